import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { consumers, producers } from '../helpers/queues'

const text = readFileSync(join(import.meta.dirname, '..', '..', 'wrangler.toml'), 'utf8')

test('the Worker serves only its own domain', () => {
  const beforeTables = text.slice(0, text.search(/^\[/m))
  expect(beforeTables).toMatch(/^workers_dev = false$/m)
  expect(beforeTables).toMatch(/^preview_urls = false$/m)
  // A comment. If it is uncommented, it must come before the first table too.
  expect(beforeTables).toMatch(/^# routes = \[\{ pattern = "[^"]+", custom_domain = true \}\]$/m)
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
  expect(new Set(others.map((consumer) => consumer.dead_letter_queue))).toEqual(new Set([deadLetters?.queue]))
})
