/** Forms of the console send only drafts that the interface accepts, or show its objection at the field. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { beforeAll, expect, it } from 'vitest'
import type * as z from 'zod'
import { newFolder, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

const console_ = join(import.meta.dirname, '..', '..', '..', 'console')

/** The parts of a resource of the console that this test uses. */
type Resource = {
  form: {
    fields: readonly { name: string; kind: string; when?: (values: object) => boolean }[]
    schema: z.ZodType
  }
  operations: (admin: unknown) => { create: (drafts: unknown[]) => Promise<object> }
}
type Sources = Record<
  'metrics' | 'points' | 'achievements' | 'leaderboards' | 'attributes' | 'webhooks' | 'templates',
  Resource
> &
  Record<'levelsOf' | 'boostsOf' | 'triggersOf', (system: { key: string; name: string }) => Resource> & {
    Laurel: new (options: { url: string; apiKey: string }) => { admin: unknown }
    valuesIn: (form: Resource['form'], item: null) => Record<string, unknown>
    demandWritten: (written: object) => unknown
    objectionsOf: (error: unknown) => readonly object[]
    messagesByField: (
      objections: readonly object[],
      fields: readonly string[],
    ) => { byField: ReadonlyMap<string, string>; others: readonly string[] }
  }

const SOURCES = `
  export { metrics } from './src/features/metrics/metrics.resource'
  export { points } from './src/features/points/points.resource'
  export { levelsOf } from './src/features/points/levels.resource'
  export { boostsOf } from './src/features/points/boosts.resource'
  export { triggersOf } from './src/features/points/triggers.resource'
  export { achievements } from './src/features/achievements/achievements.resource'
  export { leaderboards } from './src/features/leaderboards/leaderboards.resource'
  export { attributes } from './src/features/attributes/attributes.resource'
  export { webhooks } from './src/features/webhooks/webhooks.resource'
  export { templates } from './src/features/notifications/templates.resource'
  export { Laurel } from '@laurel/client'
  export { valuesIn } from './src/resource/values'
  export { demandWritten } from './src/resource/writes'
  export { messagesByField, objectionsOf } from './src/api/errors'
`

let server: Server
let sources: Sources

beforeAll(async () => {
  const outfile = join(newFolder('laurel-forms'), 'forms.mjs')
  ;[server] = await Promise.all([
    startServer({ clock: SERVER_START }),
    build({
      stdin: { contents: SOURCES, resolveDir: console_, loader: 'tsx' },
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'browser',
      conditions: ['@laurel/source'],
      jsx: 'automatic',
      loader: { '.css': 'empty' },
      logLevel: 'error',
      // Vite makes this module. No form needs it.
      plugins: [
        {
          name: 'icons',
          setup: (of) => {
            of.onResolve({ filter: /^virtual:icons$/ }, () => ({ path: 'icons', namespace: 'icons' }))
            of.onLoad({ filter: /./, namespace: 'icons' }, () => ({ contents: 'export default {}' }))
          },
        },
      ],
    }),
  ])
  sources = await import(pathToFileURL(outfile).href)
})

const idOf = async (path: string) => String((await server.ask('GET', `/admin/v1${path}`)).body.id)

/** Values at the limits of fields, and beyond them. */
const TEXTS = ['', 'a'.repeat(256), 'a'.repeat(2001), 'ä b', '\ud800']
const TRIED: Readonly<Record<string, readonly string[]>> = {
  text: [...TEXTS, 'https://user:pw@example.com', '{% if %}'],
  'long-text': [...TEXTS, '{% if %}'],
  key: TEXTS,
  number: ['', '0', '1.5', '100', '306783379', '2147483648', '9007199255'],
  date: ['2026-02-30', '0000-01-01', '9999-12-31'],
}

let made = 0
/** Values that must differ from item to item. */
const unique = () => {
  made += 1
  return { name: `Form ${made}`, key: `form-${made}`, url: `https://example.com/${made}` }
}

/**
 * Sends a form with one field changed. Returns the messages that nobody would see: those at fields that are
 * not shown, or at none.
 */
async function unseen(resource: Resource, base: object, name: string, value: unknown): Promise<string[]> {
  const { form } = resource
  const given = { ...sources.valuesIn(form, null), ...unique(), ...base, [name]: value }
  const shown = form.fields.filter(({ when }) => when === undefined || when(given)).map((one) => one.name)
  const isShown = (path: string) => shown.some((one) => path === one || path.startsWith(`${one}.`))
  const parsed = form.schema.safeParse(given)
  if (!parsed.success)
    return parsed.error.issues
      .filter(({ path }) => !isShown(path.join('.')))
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
  const { admin } = new sources.Laurel({ url: server.url, apiKey: server.adminKey })
  try {
    sources.demandWritten(await resource.operations(admin).create([parsed.data]))
    return []
  } catch (error) {
    const { byField, others } = sources.messagesByField(sources.objectionsOf(error), shown)
    return byField.size > 0 && others.length === 0 ? [] : [...others]
  }
}

it('[G3] each objection to a form is shown at its field', async () => {
  const system = { key: 'demo-xp', name: 'XP' }
  const [metricId, pointsSystemId] = await Promise.all([
    idOf('/metrics/demo-lessons'),
    idOf('/points/demo-xp'),
  ])
  const achievementIds = [await idOf('/achievements/demo-first-lesson')]
  const forms: [resource: Resource, base: object][] = [
    [sources.metrics, {}],
    [sources.points, {}],
    [sources.levelsOf(system), { points: '12345' }],
    [sources.boostsOf(system), { start: '2083-01-01' }],
    [sources.triggersOf(system), { points: '5', metricId }],
    [sources.triggersOf(system), { points: '5', type: 'streak', streakLength: '5' }],
    [sources.triggersOf(system), { points: '5', type: 'time', timeInterval: '5' }],
    [sources.achievements, { metricId, metricValue: '5' }],
    [sources.achievements, { trigger: 'streak', streakLength: '5' }],
    [sources.achievements, { trigger: 'achievement', achievementIds }],
    [sources.leaderboards, { pointsSystemId }],
    [sources.leaderboards, { rankBy: 'metric', metricId, runs: 'none', runInterval: '0' }],
    [sources.leaderboards, { rankBy: 'streak', runInterval: '0', startTime: '08:00' }],
    [sources.leaderboards, { pointsSystemId, startTime: '08:00', endTime: '08:00' }],
    [sources.attributes, {}],
    [sources.webhooks, {}],
    [sources.templates, { title: 'Hello', body: 'Text' }],
    [sources.templates, { channel: 'email', subject: 'Hello', body: 'Text' }],
  ]
  const found: string[] = []
  for (const [resource, base] of forms)
    for (const { name, kind } of resource.form.fields)
      for (const value of TRIED[kind] ?? [])
        for (const message of await unseen(resource, base, name, value))
          found.push(`${JSON.stringify(base)}, ${name} ${JSON.stringify(value)}: ${message}`)
  expect(made).toBeGreaterThan(300)
  expect(found).toEqual([])
})
