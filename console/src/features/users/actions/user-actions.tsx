import type { User } from '@laurel/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Ban, CirclePause, CircleSlash, Download, RotateCcw, Snowflake, Trash2 } from 'lucide-react'
import { messageOf } from '../../../api/errors'
import { useAdmin } from '../../../api/laurel'
import { Button } from '../../../ui/button'
import { Confirm } from '../../../ui/dialog'
import { Menu } from '../../../ui/menu'
import { fileNameOf } from '../../../ui/text'
import { done, failed, toasts } from '../../../ui/toasts'
import { pathOfUser, USERS } from '../user-paths'
import { useUserWrite } from '../user-writes'
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
            { label: 'Grant a freeze', icon: Snowflake, act: () => open('freeze') },
            { label: 'Pause the streak', icon: CirclePause, act: () => open('pause') },
            { label: 'Restore the streak', icon: RotateCcw, act: () => open('restore') },
            { label: 'Reset the streak', icon: CircleSlash, act: () => open('reset') },
          ],
          [
            {
              label: 'Void an event',
              icon: Ban,
              act: () =>
                navigate({
                  to: pathOfUser(user.id, 'timeline'),
                  search: { type: 'event' },
                  resetScroll: false,
                }),
            },
          ],
          [
            { label: 'Export all data', icon: Download, act: download },
            { label: 'Erase this user', icon: Trash2, act: () => open('erase'), isDangerous: true },
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
  act: (admin: ReturnType<typeof useAdmin>, id: string) => PromiseLike<object>
  done: string
  isDangerous?: boolean
}

/** The actions that need no entries, only a confirmation. */
const QUESTIONS = {
  freeze: {
    title: 'Grant a freeze?',
    confirm: 'Confirm: grant a freeze',
    text: 'A freeze saves the streak when a period is missed.',
    act: ({ streaks }, userId) => streaks.freezes.create({ freezes: [{ userId }] }),
    done: 'The user has one more freeze',
  },
  restore: {
    title: 'Restore the streak?',
    confirm: 'Confirm: restore',
    text: 'The user gets the longest recent streak back. It gives no points and sends no messages.',
    act: ({ streaks }, id) => streaks.restore({ users: [{ id }] }),
    done: 'The streak was restored',
  },
  reset: {
    title: 'Reset the streak?',
    confirm: 'Confirm: reset',
    text: 'The length is 0 at once, and webhooks are told that the streak was lost. What the user did in the present period does not count for it any more. You can restore the streak.',
    act: ({ streaks }, id) => streaks.reset({ users: [{ id }] }),
    done: 'The streak was reset',
    isDangerous: true,
  },
} satisfies Partial<Record<Action, Question>>

function Ask({ question, userId, onClose }: QuestionProps & { question: Question }) {
  const { act, done, text, ...asked } = question
  const admin = useAdmin()
  const write = useUserWrite()
  const confirm = () => write.mutateAsync({ act: () => act(admin, userId), done })
  return (
    <Confirm {...asked} onConfirm={confirm} onClose={onClose}>
      {text}
    </Confirm>
  )
}

function Erase({ userId, onClose }: QuestionProps) {
  const admin = useAdmin()
  const navigate = useNavigate()
  const write = useUserWrite()
  return (
    <Confirm
      title="Erase this user?"
      confirm="Confirm: erase"
      isDangerous
      typed={{ label: `Type ${userId} to confirm`, text: userId }}
      onConfirm={() =>
        write.mutateAsync({
          act: () => admin.users.delete(userId),
          done: 'The user was erased',
          after: () => navigate({ to: USERS, replace: true }),
        })
      }
      onClose={onClose}
    >
      All data of this user is removed: events, points, streak, achievements, and places on leaderboards. This
      cannot be undone.
    </Confirm>
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
