/** What others may change too, with the name of the state that was read (G15). */
import type { Call, Laurel } from '@laurel/client'

/** Something that was read, with its ETag if it has one. */
export type Tagged<T> = T & { etag?: string | undefined }

/** An answer with its ETag. */
export async function tagged<T extends object>(call: PromiseLike<T> | Call<T>): Promise<Tagged<T>> {
  if (!('withResponse' in call)) return call
  const { data, response } = await call.withResponse()
  return { ...data, etag: response.headers.get('etag') ?? undefined }
}

/** The reads of settings, which several pages share. */
export const settingsRead = (admin: Laurel['admin']) => ({
  queryKey: ['/settings'],
  queryFn: () => tagged(admin.settings.get()),
})
export const streakSettingsRead = (admin: Laurel['admin']) => ({
  queryKey: ['/streaks', 'settings'],
  queryFn: () => tagged(admin.streaks.settings.get()),
})
