import type { StreakSettings } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { useToday } from '../../analytics/period'
import { StreakLengths } from '../../analytics/streak-lengths'
import { streakSettingsRead, type Tagged, useAdmin } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { InWords, PageForm } from '../../resource/form-sheet'
import { choicesOf, type Lookups, useLookups } from '../../resource/lookups'
import { amountOf } from '../../resource/parts'
import type { Field } from '../../resource/resource'
import {
  type AllFields,
  choice,
  decimal,
  optionalWhole,
  REFUSED,
  reference,
  refusesEntry,
  whole,
} from '../../resource/schemas'
import { valuesOf as storedValues } from '../../resource/values'
import { DaysOff, weekdaysInWords } from '../../ui/days-off'
import { formatMoment } from '../../ui/format'
import { asText } from '../../ui/locale'
import { Card, Page } from '../../ui/page'

export default function StreaksPage() {
  const admin = useAdmin()
  const lookups = useLookups(['metrics'])
  const settings = useQuery(streakSettingsRead(admin))
  return (
    <Page
      name="Streaks"
      intro="How many days, weeks or months in a row a user is active. Each user has one streak."
      isLoading={settings.isPending || lookups.isLoading}
    >
      <Card title="Settings" about="A change takes effect from the current period on. It takes nothing back.">
        <Loaded query={{ ...settings, data: lookups.isLoading ? undefined : settings.data }} className="h-96">
          {(data) => <StreakForm settings={data} lookups={lookups} />}
        </Loaded>
      </Card>
      <Lengths />
    </Page>
  )
}

/** How long the streaks of all users are now. */
function Lengths() {
  const admin = useAdmin()
  const today = useToday()
  const overview = useQuery({
    queryKey: ['/streaks', 'lengths', today],
    // The lengths are those of now. So one day is enough.
    queryFn: async ({ signal }) =>
      admin.analytics.overview(today === null ? {} : { from: today, to: today }, { signal }),
    enabled: today !== null,
  })
  const updated = overview.data?.updated
  return (
    <Card
      title="Streak lengths"
      about={`Users by the length of their streak${updated ? `, at ${formatMoment(updated)}` : ''}.`}
    >
      <Loaded query={overview} className="h-44">
        {({ streaks }) => <StreakLengths streaks={streaks} />}
      </Loaded>
    </Card>
  )
}

const MOST_FREEZES = 100
/** The values when freezes are switched on: one to begin with, and another one each week. */
const FIRST_FREEZES = { startCount: 1, maxCount: 2, autoEarnInterval: 7, autoEarnAmount: 1 }

/** Without an interval, none are earned. */
const Freezes = z
  .object({
    startCount: whole({ min: 0, max: MOST_FREEZES }),
    maxCount: whole({ min: 1, max: MOST_FREEZES }),
    autoEarnInterval: optionalWhole({ min: 1, max: 3650 }),
    autoEarnAmount: whole({ min: 1, max: MOST_FREEZES }),
  })
  .transform((given) => (given.autoEarnInterval === null ? { ...given, autoEarnAmount: null } : given))

const Common = z.object({
  enabled: z.boolean(),
  frequency: choice(['daily', 'weekly', 'monthly']),
  metrics: z
    .array(z.object({ key: reference(), threshold: decimal({ min: 0.000001, max: 1_000_000_000 }) }))
    .superRefine((metrics, context) => {
      for (const [index, { key }] of metrics.entries())
        if (metrics.findIndex((one) => one.key === key) < index)
          context.addIssue({ code: 'custom', path: [index, 'key'], message: 'Choose each metric once.' })
    }),
  evaluationMode: choice(['AND', 'OR']),
  customizationEnabled: z.boolean(),
  daysOff: z.array(z.number()).max(6, 'Leave one day on which activity counts.'),
})

/** Without freezes, their fields are not checked and not sent. */
const Draft = z
  .discriminatedUnion('hasFreezes', [
    Common.extend({ hasFreezes: z.literal(true), freezes: Freezes }),
    Common.extend({ hasFreezes: z.literal(false) }),
  ])
  .transform((given) => {
    const { hasFreezes, ...draft } = given
    // Only daily streaks have days off.
    const daysOff = draft.frequency === 'daily' ? draft.daysOff : []
    return { ...draft, daysOff, freezes: given.hasFreezes ? given.freezes : null }
  })

type Values = AllFields<z.input<typeof Draft>>

const valuesOf = ({ freezes, metrics, ...settings }: StreakSettings): Values => {
  const { autoEarnAmount, ...shown } = freezes ?? FIRST_FREEZES
  return storedValues<Values>(FIELDS, {
    ...settings,
    metrics: metrics.map(({ key, threshold }) => ({ key, threshold: asText(threshold) })),
    hasFreezes: freezes !== null,
    freezes: { ...shown, autoEarnAmount: autoEarnAmount ?? FIRST_FREEZES.autoEarnAmount },
  })
}

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** How users get freezes. */
function freezesInWords({ startCount, autoEarnInterval, autoEarnAmount }: Values['freezes']): string {
  const isNone = startCount.trim() === '' || Number(startCount) === 0
  if (isNone && autoEarnInterval.trim() === '')
    return 'Nobody gets one by these settings: let users begin with one, or earn them. Else you grant each by hand.'
  const earned =
    autoEarnInterval.trim() === ''
      ? 'earn no more'
      : `earn ${autoEarnAmount || 1} every ${Number(autoEarnInterval) === 1 ? 'day' : `${autoEarnInterval} days`}`
  return `Users begin with ${isNone ? 'none' : startCount}, and ${earned}.`
}

/** The settings in words, as a user sees them. */
function inWords(values: Values, lookups: Lookups): string {
  if (refusesEntry(Draft, values)) return REFUSED
  const { enabled, frequency, metrics, evaluationMode, daysOff, hasFreezes, freezes } = values
  if (!enabled) return 'Streaks are off. Nothing counts for them.'
  const period = PERIODS[frequency]
  const needs = metrics
    .filter(({ key, threshold }) => key !== '' && threshold !== '')
    .map(({ key, threshold }) => amountOf(threshold, key, lookups))
  const needed = needs.length === 0 ? 'any event' : needs.join(evaluationMode === 'AND' ? ' and ' : ' or ')
  const spared = hasFreezes ? ` A freeze spares a ${period} without it. ${freezesInWords(freezes)}` : ''
  const hasDaysOff = frequency === 'daily' && daysOff.length > 0
  const off = hasDaysOff ? ` Days off: ${weekdaysInWords(daysOff)}.` : ''
  return `The streak grows each ${period} with ${needed}.${off}${spared}`
}

const when = ({ enabled }: Values) => enabled
const withFreezes = ({ enabled, hasFreezes }: Values) => enabled && hasFreezes
const withEarned = (values: Values) => withFreezes(values) && values.freezes.autoEarnInterval.trim() !== ''

const FIELDS: readonly Field<Values>[] = [
  { kind: 'switch', name: 'enabled', label: 'Streaks are on' },
  {
    kind: 'choice',
    name: 'frequency',
    label: 'Frequency',
    options: { daily: 'Every day', weekly: 'Every week, from Monday', monthly: 'Every month' },
    when,
  },
  {
    kind: 'rows',
    name: 'metrics',
    label: 'Events that count',
    hint: ({ metrics }) => (metrics.length === 0 ? 'Any event counts.' : undefined),
    when,
    one: 'metric',
    choice: {
      part: 'key',
      none: 'Choose…',
      options: ({ metrics }) => choicesOf(metrics.all, 'key'),
      labelOf: (index) => (index === 0 ? 'Metric' : `Metric ${index + 1}`),
    },
    text: {
      part: 'threshold',
      isNumber: true,
      first: '1',
      labelOf: (index) => (index === 0 ? 'Threshold' : `Threshold ${index + 1}`),
    },
    add: 'Require a metric',
    inWords: (metrics: Values['metrics'], lookups) =>
      metrics.map(({ key, threshold }) => amountOf(threshold, key, lookups)).join(', ') || 'any event',
  },
  {
    kind: 'choice',
    name: 'evaluationMode',
    label: 'With several metrics',
    options: { OR: 'One of them is enough', AND: 'All of them are needed' },
    when: ({ enabled, metrics }) => enabled && metrics.length > 1,
  },
  {
    kind: 'custom',
    name: 'daysOff',
    label: 'Days off',
    when: ({ enabled, frequency }) => enabled && frequency === 'daily',
    render: ({ values, change, message }) => (
      <DaysOff days={values.daysOff} onChange={(days) => change('daysOff', days)} message={message} />
    ),
    inWords: ({ daysOff }) => weekdaysInWords(daysOff) || 'none',
  },
  {
    kind: 'switch',
    name: 'customizationEnabled',
    label: 'Users may choose their own metrics and days off',
    when,
  },
  {
    kind: 'switch',
    name: 'hasFreezes',
    label: 'Freezes',
    hint: 'A freeze keeps the streak when a user misses a period.',
    when,
  },
  { kind: 'number', name: 'freezes.startCount', label: 'Freezes of a new user', when: withFreezes },
  { kind: 'number', name: 'freezes.maxCount', label: 'Freezes at most', when: withFreezes },
  {
    kind: 'number',
    name: 'freezes.autoEarnInterval',
    label: 'Days until another one is earned',
    isOptional: true,
    hint: 'Empty: never.',
    when: withFreezes,
  },
  { kind: 'number', name: 'freezes.autoEarnAmount', label: 'Freezes earned each time', when: withEarned },
]

/** The settings of streaks, as one form. */
const StreakForm = ({ settings, lookups }: { settings: Tagged<StreakSettings>; lookups: Lookups }) => (
  <div className="max-w-xl">
    <PageForm
      name="/streaks"
      title="Streaks"
      path="/streaks"
      fields={FIELDS}
      schema={Draft}
      values={valuesOf(settings)}
      stored={{ item: settings, queryKey: ['/streaks', 'settings'], valuesOf, kind: 'streak_settings' }}
      needs={['metrics']}
      submit="Save changes"
      write={(draft) => ({
        what: 'The settings of streaks',
        did: 'were saved',
        act: (admin) => admin.streaks.settings.update(draft),
        show: (queries, { issues: _issues, ...saved }) =>
          queries.setQueryData(['/streaks', 'settings'], saved),
      })}
    >
      {(show, values) => (
        <>
          {show(FIELDS)}
          <InWords>{inWords(values, lookups)}</InWords>
        </>
      )}
    </PageForm>
  </div>
)
