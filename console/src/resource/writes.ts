import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { type Objection, WriteRefused } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { sentence } from '../api/words'
import { done } from '../ui/toasts'
import type { Admin, Written } from './resource'
import { listKey } from './shown'

/** Throws if the interface did not do a write: its issues say why. */
export function demandWritten<T>(written: Written<T>): T | undefined {
  const objections: Objection[] = (written.issues ?? [])
    .filter(({ severity }) => severity === 'error')
    .map(({ message }) => ({ path: null, message }))
  if (objections.length > 0) throw new WriteRefused(objections)
  return (written.created ?? written.updated)?.[0]
}

type Write<Item> = {
  act: (admin: Admin) => PromiseLike<Written<Item>>
  /** The message afterwards. */
  done: string
  /**
   * Shows the effect before the interface has answered. Returns a function that takes it back, which is
   * called if the write fails.
   */
  expect?: (queries: QueryClient) => Promise<() => void>
  /** Shows the answer, so that nobody waits until everything was read again. */
  show?: (queries: QueryClient, item: Item | undefined) => void
  /** Is called at once afterwards, for example to leave the page of an item that is gone. */
  after?: () => void
  /** Whether the item is gone. Its page, which is about to be left, then reads nothing again. */
  isRemoval?: boolean
}

/**
 * Writes of a resource. Afterwards everything that the page shows of it is read again, and a message says
 * that it was done.
 */
export function useWrite<Item>(path: string) {
  const admin = useAdmin()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (write: Write<Item>) => {
      const written = await write.act(admin)
      const item = demandWritten(written)
      const warnings = (written.issues ?? []).map(({ message }) => sentence(message))
      done(write.done, ...(warnings.length > 0 ? [warnings.join(' ')] : []))
      return item
    },
    onMutate: async ({ expect }) => expect?.(queries),
    onError: (_error, _write, takeBack) => takeBack?.(),
    onSuccess: async (item, write) => {
      write.show?.(queries, item)
      write.after?.()
      const { isRemoval = false } = write
      const read = Promise.all([
        queries.invalidateQueries({ queryKey: [path], refetchType: isRemoval ? 'none' : 'active' }),
        isRemoval && queries.refetchQueries({ queryKey: listKey(path), type: 'active' }),
      ])
      if (write.show === undefined) await read
    },
  })
}
