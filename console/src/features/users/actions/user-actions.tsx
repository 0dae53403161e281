import type { User } from '@laurel/client'
import { useNavigate } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import { messageOf } from '../../../api/errors'
import { useAdmin } from '../../../api/laurel'
import { ConfirmWrite } from '../../../resource/confirm-write'
import { useAddress } from '../../../ui/address'
import { Button } from '../../../ui/button'
import { Menu } from '../../../ui/menu'
import { fileNameOf, say } from '../../../ui/text'
import { done, failed, toasts } from '../../../ui/toasts'
import { pathOfUser, USERS, writesOf } from '../user-paths'
import { AdjustPointsForm, PauseForm } from './action-forms'

/** The forms that can be open, by their names in the address: `?action=pause`. */
type Asked = 'freeze' | 'restore' | 'reset' | 'erase'
type Action = 'adjust-points' | 'pause' | Asked

/** The buttons of the actions that support can take for a user. Each form has an address. */
export function UserActions({ user }: { user: User }) {
  const navigate = useNavigate()
  const address = useAddress()
  const { action } = address.search
  const open = (name: Action) => address.open({ action: name })
  const close = () => address.open({ action: '' })
  const showEvents = () =>
    navigate({ to: pathOfUser(user.id, 'timeline'), search: { type: 'event' }, resetScroll: false })
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
          [{ label: 'Void an event', icon: 'ban', act: showEvents }],
          [
            { label: 'Export all data', icon: 'download', act: download },
            { label: 'Erase this user', icon: 'trash', act: () => open('erase'), isDangerous: true },
          ],
        ]}
      />
      {action === 'adjust-points' && <AdjustPointsForm userId={user.id} onClose={close} />}
      {action === 'pause' && <PauseForm userId={user.id} onClose={close} />}
      {isAsked(action) && (
        <ConfirmWrite
          {...writesOf(user.id)}
          {...QUESTIONS[action](user.id)}
          onDone={action === 'erase' ? () => navigate({ to: USERS, replace: true }) : undefined}
          onClose={close}
        />
      )}
    </>
  )
}

type Question = Omit<ComponentProps<typeof ConfirmWrite<object>>, 'path' | 'onClose'>

/** The actions that need no entries, only a confirmation. */
const QUESTIONS: Readonly<Record<Asked, (userId: string) => Question>> = {
  freeze: (userId) => ({
    title: 'Grant a freeze?',
    confirm: 'Confirm: grant a freeze',
    children: 'A freeze saves the streak when a period is missed.',
    write: {
      what: say`A freeze of ${userId}`,
      did: 'was granted',
      act: ({ streaks }) => streaks.freezes.create({ freezes: [{ userId }] }),
    },
  }),
  restore: (id) => ({
    title: 'Restore the streak?',
    confirm: 'Confirm: restore',
    children: 'The user gets the longest recent streak back. It gives no points and sends no messages.',
    write: {
      what: say`The streak of ${id}`,
      did: 'was restored',
      act: ({ streaks }) => streaks.restore({ users: [{ id }] }),
    },
  }),
  reset: (id) => ({
    title: 'Reset the streak?',
    confirm: 'Confirm: reset',
    children:
      'The length is 0 at once, and webhooks are told that the streak was lost. What the user did in the present period does not count for it any more. You can restore the streak.',
    isDangerous: true,
    write: {
      what: say`The streak of ${id}`,
      did: 'was reset',
      act: ({ streaks }) => streaks.reset({ users: [{ id }] }),
    },
  }),
  erase: (id) => ({
    title: 'Erase this user?',
    confirm: 'Confirm: erase',
    children:
      'All data of this user is removed: events, points, streak, achievements, and places on leaderboards. This cannot be undone.',
    isDangerous: true,
    typed: { label: say`Type ${id} to confirm`, text: id },
    write: {
      what: say`The user ${id}`,
      did: 'was erased',
      act: (admin) => admin.users.delete(id),
      isRemoval: true,
    },
  }),
}
const isAsked = (action: unknown): action is Asked =>
  typeof action === 'string' && Object.hasOwn(QUESTIONS, action)

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
      // Safari begins to read it a moment later.
      setTimeout(() => URL.revokeObjectURL(address), 60_000)
      done('The export was downloaded')
    } catch (error) {
      failed('The export failed', messageOf(error))
    } finally {
      toasts.close(waiting)
    }
  }
}
