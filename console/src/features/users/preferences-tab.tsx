import type {
  StreakSettings,
  UpdateUserPreferencesRequest,
  User,
  UserPreferencesResponse,
} from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { messageOf, messagesByField, objectionsOf } from '../../api/errors'
import { useAdmin, useLaurel } from '../../api/laurel'
import { Button, Toggle } from '../../ui/button'
import { DaysOff, weekdaysInWords } from '../../ui/days-off'
import { Unsaved } from '../../ui/dialog'
import { Card, Notice, Skeleton } from '../../ui/page'
import { keyOfUser } from './user-paths'
import { useUserWrite } from './user-writes'

const TYPES = {
  streak_reminder: 'Streak reminder',
  achievement_completed: 'Completed achievement',
  recap: 'Recap',
  reactivation: 'Reactivation',
} as const
type Type = keyof typeof TYPES
const TYPE_NAMES = [
  'streak_reminder',
  'achievement_completed',
  'recap',
  'reactivation',
] as const satisfies readonly Type[]

const CHANNELS = ['email', 'push'] as const
type Channel = (typeof CHANNELS)[number]
const CHANNEL_NAMES: Readonly<Record<Channel, string>> = { email: 'Email', push: 'Push' }

/** Which notifications the user wants, and how the user's streak is counted. */
export function PreferencesTab({ user }: { user: User }) {
  const laurel = useLaurel()
  const admin = useAdmin()
  const preferences = useQuery({
    queryKey: keyOfUser(user.id, 'preferences'),
    queryFn: () => laurel.users.preferences.get(user.id),
  })
  const settings = useQuery({
    queryKey: ['/streaks', 'settings'],
    queryFn: () => admin.streaks.settings.get(),
  })
  const error = preferences.error ?? settings.error
  if (error !== null) return <Notice tone="danger">{messageOf(error)}</Notice>
  if (preferences.data === undefined || settings.data === undefined)
    return (
      <Card title="Preferences">
        <div aria-busy="true">
          <Skeleton className="h-72 w-full" />
        </div>
      </Card>
    )
  return <PreferencesForm user={user} preferences={preferences.data} settings={settings.data} />
}

const DAYS_OFF = 'streak.daysOff'

/** The days off in the settings, in words. */
const daysOfAll = ({ frequency, daysOff }: StreakSettings): string =>
  frequency === 'daily'
    ? `Their days: ${weekdaysInWords(daysOff) || 'none'}.`
    : `Streaks are ${frequency}. Days off have an effect only on daily ones.`

/** How many of the metrics are needed; empty: as in the settings. */
type Mode = 'OR' | 'AND' | ''

type FormProps = {
  user: User
  preferences: UserPreferencesResponse
  settings: StreakSettings
}

function PreferencesForm({ user, preferences, settings }: FormProps) {
  const laurel = useLaurel()
  const write = useUserWrite()
  /** The changed types only. A type that was never set is sent by both channels. */
  const [changed, setChanged] = useState<Partial<Record<Type, readonly Channel[]>>>({})
  const [isEnabled, setEnabled] = useState(preferences.streak?.enabled !== false)
  const [mode, setMode] = useState<Mode>(preferences.streak?.evaluationMode ?? '')
  /** Null means the days off of all users. */
  const [daysOff, setDaysOff] = useState(preferences.streak?.daysOff ?? null)
  /** Whether users may have metrics and days off of their own. */
  const isPersonal = settings.customizationEnabled
  const chooseDaysOff = (days: number[] | null) => {
    write.reset()
    setDaysOff(days)
  }
  const channelsOf = (type: Type): readonly Channel[] =>
    changed[type] ?? preferences.notifications[type] ?? CHANNELS
  const toggle = (type: Type, channel: Channel, isWanted: boolean) =>
    setChanged({
      ...changed,
      [type]: CHANNELS.filter((one) => (one === channel ? isWanted : channelsOf(type).includes(one))),
    })

  const streak = {
    ...(isEnabled !== (preferences.streak?.enabled !== false) && { enabled: isEnabled }),
    ...(mode !== '' && mode !== preferences.streak?.evaluationMode && { evaluationMode: mode }),
    ...(isPersonal && daysOff?.join() !== preferences.streak?.daysOff?.join() && { daysOff }),
  }
  const request: UpdateUserPreferencesRequest = {
    ...(Object.keys(changed).length > 0 && {
      notifications: Object.fromEntries(
        Object.entries(changed).map(([type, channels]) => [type, [...channels]]),
      ),
    }),
    ...(Object.keys(streak).length > 0 && { streak }),
  }
  const isChanged = Object.keys(request).length > 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isChanged)
      write.mutate({
        act: () => laurel.users.preferences.update(user.id, request),
        done: 'The preferences were saved',
        after: () => setChanged({}),
      })
  }
  const thresholds = preferences.streak?.metrics ?? []
  const refused = messagesByField(write.isError ? objectionsOf(write.error) : [], [DAYS_OFF])
  return (
    <form onSubmit={submit} className="flex flex-col gap-6" aria-busy={write.isPending}>
      <Unsaved hasEntries={() => isChanged} />
      <Card title="Notifications" about="The channels that the user wants, by type.">
        {user.control && (
          <div className="mb-4">
            <Notice>This user is in the control group, and gets no notifications.</Notice>
          </div>
        )}
        <table className="w-full max-w-xl text-left">
          <caption className="sr-only">Channels by type of notification</caption>
          <thead>
            <tr className="border-b border-line text-sm text-quiet">
              <th scope="col" className="py-2 font-medium">
                Type
              </th>
              {CHANNELS.map((channel) => (
                <th key={channel} scope="col" className="w-24 py-2 text-center font-medium">
                  {CHANNEL_NAMES[channel]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {TYPE_NAMES.map((type) => (
              <tr key={type} className="border-b border-line last:border-b-0">
                <th scope="row" className="py-2.5 font-normal">
                  {TYPES[type]}
                </th>
                {CHANNELS.map((channel) => (
                  <td key={channel} className="py-2.5 text-center">
                    <input
                      type="checkbox"
                      className="size-4 align-middle accent-accent"
                      aria-label={`${TYPES[type]} by ${CHANNEL_NAMES[channel].toLowerCase()}`}
                      checked={channelsOf(type).includes(channel)}
                      onChange={({ target }) => toggle(type, channel, target.checked)}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      <Card title="Streak">
        <div className="flex flex-col gap-4">
          <Toggle
            label="The user has a streak"
            hint="Without one, the length is 0, and there are no reminders."
            checked={isEnabled}
            onChange={({ target }) => setEnabled(target.checked)}
          />
          {isPersonal && (
            <label className="flex max-w-xs flex-col gap-1.5">
              <span className="font-medium">Metrics that are needed</span>
              <select
                className="control"
                value={mode}
                onChange={({ target }) => setMode(modeOf(target.value))}
              >
                {preferences.streak?.evaluationMode === undefined && (
                  <option value="">As in the settings</option>
                )}
                <option value="OR">One of them is enough</option>
                <option value="AND">All of them</option>
              </select>
            </label>
          )}
          {thresholds.length > 0 && (
            <p className="text-quiet">
              The user's own thresholds:{' '}
              {thresholds.map(({ key, threshold }) => `${threshold} of ${key}`).join(', ')}.
            </p>
          )}
          {isPersonal && (
            <DaysOff days={daysOff} onChange={chooseDaysOff} message={refused.byField.get(DAYS_OFF)}>
              <Toggle
                label="Use the days of all users"
                hint={daysOfAll(settings)}
                checked={daysOff === null}
                onChange={({ target }) =>
                  chooseDaysOff(target.checked ? null : (preferences.streak?.daysOff ?? settings.daysOff))
                }
              />
            </DaysOff>
          )}
        </div>
      </Card>
      {refused.others.length > 0 && <Notice tone="danger">{refused.others.join(' ')}</Notice>}
      <div className="flex justify-end">
        <Button type="submit" look="primary" disabled={!isChanged} isBusy={write.isPending}>
          Save preferences
        </Button>
      </div>
    </form>
  )
}

const modeOf = (value: string): Mode => (value === 'OR' || value === 'AND' ? value : '')
