import type { User } from '@laurel/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { messageOf } from '../../../api/errors'
import { useAdmin } from '../../../api/laurel'
import { ConfirmWrite } from '../../../resource/confirm-write'
import type { Write } from '../../../resource/writes'
import { Button } from '../../../ui/button'
import { Menu } from '../../../ui/menu'
import { fileNameOf, say } from '../../../ui/text'
import { done, failed, toasts } from '../../../ui/toasts'
import { pathOfUser, USERS, writesOf } from '../user-paths'
import { AdjustPointsForm } from './adjust-points'
import { PauseForm } from './pause'

/** The forms that can be open, by their names in the address: `?action=pause`. */
type Action = 'adjust-points' | 'freeze' | 'pause' | 'restore' | 'reset' | 'erase'

/** The buttons of the actions that support can take for a user. Each form has an address. */
export function UserActions({ user }: { user: User }) {
  const navigate = useNavigate()
  const { action }: { action?: unknown } = useSearch({ strict: false })
  const here = { to: '.', resetScroll: false } as const
  const open = (name: Action) => navigate({ ...here, search: { action: name } })
  const close = () => navigate({ ...here, search: {} })
  const download = useExport(user.id)
  return (
    <>
      <Button onClick={() => open('adjust-points')}>Adjust points</Button>
      <Menu
        label="Actions"
        groups={[
          [
            { label: 'Grant a freeze', icon: 'snowflake', act: () => open('freeze') },
            { label: 'Pause the streak', icon: 'circle-pause', act: () => open('pause') },
            { label: 'Restore the streak', icon: 'rotate-ccw', act: () => open('restore') },
            { label: 'Reset the streak', icon: 'circle-slash', act: () => open('reset') },
          ],
          [
            {
              label: 'Void an event',
              icon: 'ban',
              act: () =>
                navigate({
                  to: pathOfUser(user.id, 'timeline'),
                  search: { type: 'event' },
                  resetScroll: false,
                }),
            },
          ],
          [
            { label: 'Export all data', icon: 'download', act: download },
            { label: 'Erase this user', icon: 'trash', act: () => open('erase'), isDangerous: true },
          ],
        ]}
      />
      {action === 'adjust-points' && <AdjustPointsForm userId={user.id} onClose={close} />}
      {action === 'pause' && <PauseForm userId={user.id} onClose={close} />}
      {(action === 'freeze' || action === 'restore' || action === 'reset') && (
        <Ask question={QUESTIONS[action]} userId={user.id} onClose={close} />
      )}
      {action === 'erase' && <Erase userId={user.id} onClose={close} />}
    </>
  )
}

type QuestionProps = { userId: string; onClose: () => void }

type Question = {
  title: string
  confirm: string
  text: string
  write: (userId: string) => Write<object>
  isDangerous?: boolean
}

/** The actions that need no entries, only a confirmation. */
const QUESTIONS = {
  freeze: {
    title: 'Grant a freeze?',
    confirm: 'Confirm: grant a freeze',
    text: 'A freeze saves the streak when a period is missed.',
    write: (userId) => ({
      what: say`A freeze of ${userId}`,
      did: 'was granted',
      act: ({ streaks }) => streaks.freezes.create({ freezes: [{ userId }] }),
    }),
  },
  restore: {
    title: 'Restore the streak?',
    confirm: 'Confirm: restore',
    text: 'The user gets the longest recent streak back. It gives no points and sends no messages.',
    write: (id) => ({
      what: say`The streak of ${id}`,
      did: 'was restored',
      act: ({ streaks }) => streaks.restore({ users: [{ id }] }),
    }),
  },
  reset: {
    title: 'Reset the streak?',
    confirm: 'Confirm: reset',
    text: 'The length is 0 at once, and webhooks are told that the streak was lost. What the user did in the present period does not count for it any more. You can restore the streak.',
    write: (id) => ({
      what: say`The streak of ${id}`,
      did: 'was reset',
      act: ({ streaks }) => streaks.reset({ users: [{ id }] }),
    }),
    isDangerous: true,
  },
} satisfies Partial<Record<Action, Question>>

function Ask({
  question: { text, write, ...asked },
  userId,
  onClose,
}: QuestionProps & { question: Question }) {
  return (
    <ConfirmWrite {...asked} {...writesOf(userId)} write={write(userId)} onClose={onClose}>
      {text}
    </ConfirmWrite>
  )
}

function Erase({ userId, onClose }: QuestionProps) {
  const navigate = useNavigate()
  return (
    <ConfirmWrite
      {...writesOf(userId)}
      title="Erase this user?"
      confirm="Confirm: erase"
      isDangerous
      typed={{ label: `Type ${userId} to confirm`, text: userId }}
      write={{
        what: say`The user ${userId}`,
        did: 'was erased',
        act: (admin) => admin.users.delete(userId),
        isRemoval: true,
      }}
      onDone={() => navigate({ to: USERS, replace: true })}
      onClose={onClose}
    >
      All data of this user is removed: events, points, streak, achievements, and places on leaderboards. This
      cannot be undone.
    </ConfirmWrite>
  )
}

/** Downloads all data of a user as a file. */
function useExport(userId: string) {
  const admin = useAdmin()
  return async () => {
    const waiting = toasts.add({ title: 'Exporting…', timeout: 0 })
    try {
      const exported = await admin.users.export(userId)
      const address = URL.createObjectURL(
        new Blob([JSON.stringify(exported, null, 2)], { type: 'application/json' }),
      )
      const link = document.createElement('a')
      link.href = address
      link.download = fileNameOf(userId)
      link.click()
      URL.revokeObjectURL(address)
      done('The export was downloaded')
    } catch (error) {
      failed('The export failed', messageOf(error))
    } finally {
      toasts.close(waiting)
    }
  }
}
