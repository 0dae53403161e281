/** Makes a webhook in a Laurel that runs on this machine, so that this example works at once. */
import { existsSync, readFileSync } from 'node:fs'
import { Laurel } from '@laurel/client'

const EVENTS = ['points.changed', 'streak.started', 'streak.extended', 'streak.lost', 'achievement.completed']

/** The admin key: that of `npm start`, if this folder is in Laurel's repository. */
function adminKey() {
  const file = new URL('../../.dev.vars', import.meta.url)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const key = process.env.LAUREL_ADMIN_KEY ?? /^ADMIN_API_KEY=(.*)$/m.exec(text)?.[1]
  if (key === undefined) throw new Error('Set LAUREL_ADMIN_KEY to the admin key that Laurel has printed.')
  return key
}

/** The secret of a new webhook for an address. An earlier webhook for the same address goes. */
export async function register(url) {
  const laurel = new Laurel({ url: process.env.LAUREL_URL ?? 'http://localhost:8787', apiKey: adminKey() })
  const earlier = (await laurel.admin.webhooks.list().toArray()).filter((one) => one.url === url)
  if (earlier.length > 0) await laurel.admin.webhooks.delete({ ids: earlier.map(({ id }) => id) })
  const { created, issues } = await laurel.admin.webhooks.create([{ url, events: EVENTS }])
  if (created.length === 0) throw new Error(issues[0].message)
  return created[0].secret
}
