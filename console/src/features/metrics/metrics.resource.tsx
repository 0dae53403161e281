import type { CreatedMetric } from '@laurel/client'
import { z } from 'zod'
import { DayChart, FiguresOf } from '../../analytics/figures'
import { type Affected, NEEDED, usersOf } from '../../resource/affected'
import type { Admin, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { choice, key, optionalText, text } from '../../resource/schemas'
import { Card, Code } from '../../ui/page'
import { SendEvent } from '../../ui/send-event'
import { say } from '../../ui/text'

const Draft = z.object({
  name: text(),
  key: key(),
  unitType: choice(['number', 'currency']),
  units: optionalText(255),
})

/** The parts of a metric's page: its figures (I2), and how to send an event to it. */
const Sections = ({ item: { key, units } }: { item: CreatedMetric }) => (
  <>
    <FiguresOf
      queryKey={['/metrics', 'analytics', key]}
      read={(admin, ...period) => admin.metrics.analytics(key, ...period)}
    >
      {(rows) => (
        <div className="grid gap-6 lg:grid-cols-2">
          <DayChart title="Events" kind="bars" rows={rows} value={({ events }) => events} />
          <DayChart
            title="Total"
            kind="bars"
            {...(units !== '' && { unit: units })}
            rows={rows}
            series={[{ name: units || 'Total', value: ({ total }) => total }]}
          />
          <div className="lg:col-span-2">
            <DayChart title="Active users" rows={rows} value={({ activeUsers }) => activeUsers} />
          </div>
        </div>
      )}
    </FiguresOf>
    <Card title="Send an event" about="It adds to the total of a user.">
      <SendEvent metricKey={key} />
    </Card>
  </>
)

/** All things that use a metric, with the effects of its deletion. */
async function affectedOf(admin: Admin, metric: CreatedMetric): Promise<Affected[]> {
  const [used, { metrics: counted }] = await Promise.all([
    usersOf(admin, metric, {
      ...NEEDED,
      parts: (these) => `loses ${these}`,
      achievement: 'nobody can complete it any more',
    }),
    admin.streaks.settings.get(),
  ])
  const effect = counted.length === 1 ? 'any event counts then' : 'do not count it'
  const isCounted = counted.some(({ key }) => key === metric.key)
  return [...used, ...(isCounted ? [{ path: '/streaks', name: 'Streaks', effect }] : [])]
}

export const metrics: Resource<CreatedMetric, z.input<typeof Draft>, z.output<typeof Draft>> = {
  name: 'Metrics',
  one: 'metric',
  path: '/metrics',
  intro:
    'The actions of your users that count: lessons, minutes, purchases. Your product sends an event for each.',
  empty: {
    title: 'Begin with a metric',
    text: 'A metric counts something that users do. Points, achievements, streaks and leaderboards build on it.',
  },
  operations: (admin) => admin.metrics,
  columns: () => [
    { name: 'Key', cell: ({ key }) => <Code>{key}</Code>, isMinor: true },
    { name: 'Units', cell: ({ units, unitType }) => units || (unitType === 'currency' ? 'currency' : '–') },
  ],
  summary: ({ units, key }) =>
    say`Counts ${units === '' ? 'the values' : units} of the events that your product sends to ${key}.`,
  Sections,
  form: {
    schema: Draft,
    fields: [
      { kind: 'text', name: 'name', label: 'Name', placeholder: 'Lessons done' },
      {
        kind: 'key',
        name: 'key',
        label: 'Key',
        hint: 'Your product sends events to this key. It never changes.',
        fixed: 'The key of a metric never changes.',
      },
      {
        kind: 'choice',
        name: 'unitType',
        label: 'Unit type',
        options: { number: 'A number', currency: 'An amount of money' },
      },
      {
        kind: 'text',
        name: 'units',
        label: 'Units',
        isOptional: true,
        placeholder: 'lessons',
        hint: 'The plural, as in “5 lessons”. For money, the currency, such as EUR.',
      },
    ],
    preview: ({ name, units, key }) =>
      name.trim() === ''
        ? null
        : say`Each event sent to “${key}” adds its value to the ${units.trim() || 'total'} of a user.`,
  },
  deletion: {
    text: 'Its events, totals, triggers and leaderboards are deleted with it, and streaks do not count it any more. Nobody can complete its achievements any more. This cannot be undone.',
    affected: (item) => (admin) => affectedOf(admin, item),
  },
}

export default resourcePage(metrics)
