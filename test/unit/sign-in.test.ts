import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { offerSignIn } from '../../scripts/lib/sign-in.mjs'

const KEY = 'adm_test.key'

it('[G14] the code of the link gives the key once', () => {
  const { code, exchange } = offerSignIn(KEY)
  expect(code).toMatch(/^[\w-]{43}$/)
  expect([exchange(code), exchange(code)]).toEqual([KEY, ''])
})

it('[G14] a wrong code gives nothing, and does not use the link up', () => {
  const { code, exchange } = offerSignIn(KEY)
  for (const wrong of ['', 'a', `${code}a`, code.slice(1), 'a'.repeat(100_000)])
    expect(exchange(wrong)).toBe('')
  expect(exchange(code)).toBe(KEY)
})

it('[G14] a code that is too old gives nothing', () => {
  const { code, exchange } = offerSignIn(KEY, 0)
  expect(exchange(code)).toBe('')
})

it('[G14] only the start with a demo offers a sign-in, and npm run serve passes none to the Worker', () => {
  const scripts = join(import.meta.dirname, '..', '..', 'scripts')
  const named = readdirSync(scripts, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.mjs') && readFileSync(join(scripts, name), 'utf8').includes('CONSOLE_SIGN_IN'),
  )
  expect(named.toSorted()).toEqual(['serve/demo.mjs'])
  const serve = readFileSync(join(scripts, 'serve.mjs'), 'utf8')
  expect(serve.match(/^.*makeDemo\(.*$/gm)).toEqual([
    '  if (isDemo) signIn = makeDemo(variables, server.PORT)',
  ])
  expect(serve.match(/^.*isDemo: (?!boolean).*$/gm)).toEqual([
    "  else if (command === 'start' && paths.length === 0) await serve({ isBuilt: isPackage, isDemo: true })",
  ])
})
