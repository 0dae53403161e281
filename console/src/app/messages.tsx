import { useMutationState } from '@tanstack/react-query'
import { useBlocker, useRouter } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { WRITES } from '../resource/writes'
import { useKept } from '../session/session-context'
import { SecretDialog } from '../ui/secret'
import { failed } from '../ui/toasts'

/** The writes that take a moment. */
export function Saving() {
  const saving = useMutationState({
    filters: { mutationKey: WRITES, status: 'pending' },
    select: ({ state: { variables } }) => String(Object(variables).what),
  })
  if (saving.length === 0) return null
  return (
    <p
      role="status"
      className="delayed shrink-0 self-center rounded-full border border-line bg-raised px-4 py-2 text-sm shadow-raised wrap-anywhere"
    >
      Saving: {saving.join(', ')}…
    </p>
  )
}

/** Asks before the page is loaded again with entries or writes that are on their way. */
export function useAskBeforeReload(): void {
  const kept = useKept()
  useBlocker({
    shouldBlockFn: () => false,
    enableBeforeUnload: () => !kept.isEmpty && !kept.isReloading,
  })
}

/** The secrets that people have to see, and the writes whose answers were lost by a reload. */
export function Secrets() {
  const kept = useKept()
  const { history } = useRouter()
  const secret = useSyncExternalStore(kept.subscribe, kept.secrets).find(({ isWaiting }) => !isWaiting)
  useEffect(() => {
    for (const { id, place, unknown } of kept.lost.splice(0))
      failed(unknown, 'The page was loaded again before there was an answer.', [
        { label: 'Look', act: () => history.push(place, { entries: id }) },
      ])
  }, [kept, history])
  if (secret === undefined) return null
  return <SecretDialog key={secret.secret} {...secret} onClose={() => kept.hide(secret)} />
}
