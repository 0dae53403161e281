import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Refusal } from '../../scripts/lib/cloudflare.mjs'
import { namedConfig, nearestPlace } from '../../scripts/lib/deployment.mjs'
import { consumers, producers } from '../helpers/queues'

const root = join(import.meta.dirname, '..', '..')
const text = readFileSync(join(root, 'wrangler.toml'), 'utf8')

test('a version has no address of its own, and routes can be set before the first table', () => {
  const beforeTables = text.slice(0, text.search(/^\[/m))
  expect(beforeTables).toMatch(/^preview_urls = false$/m)
  // A comment. If it is uncommented, it must come before the first table too.
  expect(beforeTables).toMatch(/^# routes = \[\{ pattern = "[^"]+", custom_domain = true \}\]$/m)
})

test('no resource has an id: a deployment finds or makes them', () => {
  expect(text).not.toMatch(/^\s*(id|database_id|account_id)\s*=/m)
})

test('the button to deploy says what each binding and secret is for', () => {
  const { cloudflare } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const secrets = Object.keys(parseEnv(readFileSync(join(root, '.dev.vars.example'), 'utf8')))
  const bound = [
    ...text.matchAll(/^\[\[(?:d1_databases|kv_namespaces|queues\.producers)\]\]\nbinding = "(\w+)"$/gm),
  ]
  const names = [...bound.map(([, name]) => name), ...secrets]
  expect(Object.keys(cloudflare.bindings).sort()).toEqual(names.sort())
  expect(secrets).toEqual(['ADMIN_API_KEY'])
})

test('the button to deploy copies the repository that package.json names', () => {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const address = String(repository?.url ?? repository ?? 'https://github.com/OWNER/laurel')
  const url = address.replace(/^git\+|\.git$/g, '')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(
    `deploy.workers.cloudflare.com/?url=${url})`,
  )
})

describe('a name', () => {
  const file = {
    name: 'laurel',
    routes: ['laurel.example.com'],
    vars: { PUBLIC_URL: 'https://laurel.example.com', DEMO: 'on' },
    d1_databases: [
      { binding: 'DB', database_name: 'laurel', database_id: '5' },
      { binding: 'DB_2', database_name: 'acme-laurel-2' },
    ],
    kv_namespaces: [{ binding: 'KEYS', id: '0000' }],
    queues: { consumers: [{ queue: 'laurel-outbox', dead_letter_queue: 'laurel-dead-letters' }] },
    ratelimits: [{ name: 'A', namespace_id: '7101' }],
  }

  test('leaves everything as it is if it is that of the file, but ids of zeros', () => {
    expect(namedConfig(file, 'laurel')).toEqual(namedConfig(file, undefined))
    expect(namedConfig(file, undefined)).toMatchObject({ ...file, kv_namespaces: [{ id: undefined }] })
  })

  test('is in all names of another deployment, which has no ids and no addresses of the first one', () => {
    const other = namedConfig(file, 'staging')
    const { ratelimits } = namedConfig(file, 'staging-2')
    expect(other).toMatchObject({
      name: 'staging',
      vars: { DEMO: 'on' },
      d1_databases: [
        { database_name: 'staging', database_id: undefined },
        { database_name: 'staging-acme-laurel-2' },
      ],
      queues: { consumers: [{ queue: 'staging-outbox', dead_letter_queue: 'staging-dead-letters' }] },
    })
    expect(Object.keys(other.vars)).toEqual(['DEMO'])
    expect(other.routes).toBeUndefined()
    expect(
      new Set([...other.ratelimits, ...ratelimits, ...file.ratelimits].map((one) => one.namespace_id)).size,
    ).toBe(3)
  })

  test.each(['Laurel', 'a', '-a', 'a_b', `a${'b'.repeat(42)}`])('is not %s', (name) => {
    expect(() => namedConfig(file, name)).toThrow("can't be a name")
  })
})

test.each([
  ['Europe/Berlin', -60, 'weur'],
  ['Europe/Kyiv', -120, 'eeur'],
  ['America/New_York', 300, 'enam'],
  ['America/Los_Angeles', 480, 'wnam'],
  ['Asia/Tokyo', -540, 'apac'],
  ['Australia/Sydney', -660, 'oc'],
  ['UTC', 0, 'weur'],
])('the place nearest to %s is proposed', (zone, behind, place) => {
  expect(nearestPlace(zone, behind)).toBe(place)
})

test('objects keep their class names, because ids of stored objects derive from them', () => {
  const named = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name).sort()
  const classes = ['Courier', 'DeletionList', 'LeaderboardObject', 'Timekeeper', 'UserLane']
  expect(named(/^class_name = "(\w+)"$/gm)).toEqual(classes)
  // Each class is declared once, in the migration that added it. None was renamed or deleted.
  const declared = [...text.matchAll(/^new_sqlite_classes = \[(.*)\]$/gm)].flatMap(([, list = '']) =>
    list.split(', '),
  )
  expect(declared.map((name) => name.replaceAll('"', '')).sort()).toEqual(classes)
  expect(text).not.toMatch(/^(renamed|deleted|transferred)_classes/m)
})

test('the log lines are kept, but no addresses of requests, since these contain ids of users', () => {
  const [, table] = /^\[observability\]\n([\s\S]*)/m.exec(text) ?? []
  expect(table).toMatch(/^enabled = true$/m)
  expect(table).toMatch(/^\[observability\.logs\]\ninvocation_logs = false$/m)
  expect(table).toMatch(/^\[observability\.traces\]\nenabled = false$/m)
})

test('a message whose last retry failed goes to the queue of dead letters, which the Worker takes too', () => {
  const others = consumers.filter(({ queue }) => !queue.endsWith('-dead-letters'))
  expect(others.map(({ queue }) => queue)).toEqual(producers.map(({ queue }) => queue))
  const [deadLetters, ...more] = consumers.filter((consumer) => !others.includes(consumer))
  expect(more).toEqual([])
  for (const other of others)
    expect(other).toMatchObject({ dead_letter_queue: deadLetters?.queue, max_retries: 10 })
})

test('a refusal tells the causes of its errors', () => {
  const cause = { code: 6111, message: 'Invalid format for Authorization header' }
  const error = { code: 6003, message: 'Invalid request headers', error_chain: [cause] }
  expect(new Refusal('GET /accounts', 400, [error]).message).toBe(
    'Cloudflare answered 400 to GET /accounts: Invalid request headers (6003) Invalid format for Authorization header (6111)',
  )
})
