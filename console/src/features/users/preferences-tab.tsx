import type {
  StreakSettings,
  UpdateUserPreferencesRequest,
  User,
  UserPreferencesResponse,
} from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { streakSettingsRead, useAdmin, useLaurel } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { PageForm } from '../../resource/form-sheet'
import type { Field } from '../../resource/resource'
import { changed } from '../../resource/values'
import { Toggle } from '../../ui/button'
import { DaysOff, weekdaysInWords } from '../../ui/days-off'
import { Card, Notice } from '../../ui/page'
import { Table } from '../../ui/table'
import { say } from '../../ui/text'
import { keyOfUser, USERS, writesOf } from './user-paths'

const TYPES = [
  { id: 'streak_reminder', name: 'Streak reminder' },
  { id: 'achievement_completed', name: 'Completed achievement' },
  { id: 'recap', name: 'Recap' },
  { id: 'reactivation', name: 'Reactivation' },
] as const
type Type = (typeof TYPES)[number]['id']

const CHANNELS = ['email', 'push'] as const
type Channel = (typeof CHANNELS)[number]
const CHANNEL_NAMES = { email: 'Email', push: 'Push' } as const

/** Which notifications the user wants, and how the user's streak is counted. */
export function PreferencesTab({ user }: { user: User }) {
  const laurel = useLaurel()
  const admin = useAdmin()
  const preferences = useQuery({
    queryKey: keyOfUser(user.id, 'preferences'),
    queryFn: () => laurel.users.preferences.get(user.id),
  })
  const settings = useQuery(streakSettingsRead(admin))
  const { error, refetch } = preferences.error === null ? settings : preferences
  const data = preferences.data && settings.data && { preferences: preferences.data, settings: settings.data }
  return (
    <Loaded query={{ data, error, refetch }} className="h-72">
      {(read) => <PreferencesForm user={user} {...read} />}
    </Loaded>
  )
}

/** The days off in the settings, in words. */
const daysOfAll = ({ frequency, daysOff }: StreakSettings): string =>
  frequency === 'daily'
    ? `Their days: ${weekdaysInWords(daysOff) || 'none'}.`
    : `Streaks are ${frequency}. Days off have an effect only on daily ones.`

/** The form in its fields. The days off are those of all users if they are null. */
const Values = z.object({
  notifications: z.custom<Record<Type, Channel[]>>(),
  streak: z.object({
    enabled: z.boolean(),
    /** How many of the metrics are needed; empty: as in the settings. */
    evaluationMode: z.custom<'OR' | 'AND' | ''>(),
    daysOff: z.array(z.number()).nullable(),
  }),
})
type Values = z.infer<typeof Values>

/** The values at first. A type that was never set is sent by both channels. */
const valuesOf = ({ notifications, streak }: UserPreferencesResponse): Values => ({
  notifications: {
    streak_reminder: notifications.streak_reminder ?? [...CHANNELS],
    achievement_completed: notifications.achievement_completed ?? [...CHANNELS],
    recap: notifications.recap ?? [...CHANNELS],
    reactivation: notifications.reactivation ?? [...CHANNELS],
  },
  streak: {
    enabled: streak?.enabled !== false,
    evaluationMode: streak?.evaluationMode ?? '',
    daysOff: streak?.daysOff ?? null,
  },
})

/** What differs from the preferences. Nothing else is sent. */
function changesOf(given: Values, first: Values): UpdateUserPreferencesRequest {
  const notifications = changed(given.notifications, first.notifications)
  const { evaluationMode, ...others } = changed(given.streak, first.streak)
  const streak = { ...others, ...(evaluationMode && { evaluationMode }) }
  return {
    ...(Object.keys(notifications).length > 0 && { notifications }),
    ...(Object.keys(streak).length > 0 && { streak }),
  }
}

type FormProps = { user: User; preferences: UserPreferencesResponse; settings: StreakSettings }

function PreferencesForm({ user, preferences, settings }: FormProps) {
  const first = valuesOf(preferences)
  // Users may have metrics and days off of their own.
  const isCustom = () => settings.customizationEnabled
  const ofStreak: readonly Field<Values>[] = [
    {
      kind: 'switch',
      name: 'streak.enabled',
      label: 'The user has a streak',
      hint: 'Without one, the length is 0, and there are no reminders.',
    },
    {
      kind: 'choice',
      name: 'streak.evaluationMode',
      label: 'Metrics that are needed',
      options: (initial) => ({
        ...(!initial?.streak?.evaluationMode && { '': 'As in the settings' }),
        OR: 'One of them is enough',
        AND: 'All of them',
      }),
      when: isCustom,
    },
    {
      kind: 'custom',
      name: 'streak.daysOff',
      label: 'Days off',
      when: isCustom,
      render: ({ values: { streak }, change, message }) => {
        const set = (days: number[] | null) => change('streak.daysOff', days)
        return (
          <DaysOff days={streak.daysOff} onChange={set} message={message}>
            <Toggle
              label="Use the days of all users"
              hint={daysOfAll(settings)}
              checked={streak.daysOff === null}
              onChange={({ target }) =>
                set(target.checked ? null : (preferences.streak?.daysOff ?? settings.daysOff))
              }
            />
          </DaysOff>
        )
      },
    },
  ]
  const thresholds = preferences.streak?.metrics ?? []
  return (
    <PageForm
      {...writesOf(user.id)}
      name={`${USERS}/${user.id}/preferences`}
      title={say`Preferences of ${user.id}`}
      fields={[NOTIFICATIONS, ...ofStreak]}
      schema={Values}
      values={first}
      submit="Save preferences"
      isUnchanged={(values) => Object.keys(changesOf(values, first)).length === 0}
      write={(draft) => ({
        what: say`The preferences of ${user.id}`,
        did: 'were saved',
        act: (_, laurel) => laurel.users.preferences.update(user.id, changesOf(draft, first)),
      })}
    >
      {(show) => (
        <>
          <Card title="Notifications" about="The channels that the user wants, by type.">
            {user.control && (
              <div className="mb-4">
                <Notice>This user is in the control group, and gets no notifications.</Notice>
              </div>
            )}
            {show([NOTIFICATIONS])}
          </Card>
          <Card title="Streak">
            <div className="flex flex-col gap-4">
              {show(ofStreak)}
              {thresholds.length > 0 && (
                <p className="text-quiet">
                  The user's own thresholds:{' '}
                  {thresholds.map(({ key, threshold }) => say`${threshold} of ${key}`).join(', ')}.
                </p>
              )}
            </div>
          </Card>
        </>
      )}
    </PageForm>
  )
}

const NOTIFICATIONS: Field<Values> = {
  kind: 'custom',
  name: 'notifications',
  label: 'Channels by type of notification',
  render: ({ values: { notifications }, change, label }) => (
    <Table
      isDense
      label={label}
      rows={TYPES}
      columns={[
        { name: 'Type', cell: ({ name }) => name },
        ...CHANNELS.map((channel) => ({
          name: CHANNEL_NAMES[channel],
          cell: ({ id, name }: (typeof TYPES)[number]) => (
            <input
              type="checkbox"
              className="size-4 align-middle accent-accent"
              aria-label={`${name} by ${channel}`}
              checked={notifications[id].includes(channel)}
              onChange={({ target: { checked } }) => {
                const wanted = CHANNELS.filter((one) =>
                  one === channel ? checked : notifications[id].includes(one),
                )
                change(`notifications.${id}`, wanted)
              }}
            />
          ),
        })),
      ]}
    />
  ),
}
