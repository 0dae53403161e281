import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const text = readFileSync(join(import.meta.dirname, '..', '..', 'wrangler.toml'), 'utf8')

test('the Worker answers on a domain of its own alone', () => {
  const beforeTables = text.slice(0, text.search(/^\[/m))
  expect(beforeTables).toMatch(/^workers_dev = false$/m)
  expect(beforeTables).toMatch(/^preview_urls = false$/m)
  // As a comment: uncommented, it stands before the first table too.
  expect(beforeTables).toMatch(/^# routes = \[\{ pattern = "[^"]+", custom_domain = true \}\]$/m)
})
