import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { offerSignIn } from '../../scripts/lib/sign-in.mjs'

const KEY = 'adm_test.key'

const offers: { close: () => void }[] = []
afterEach(() => {
  for (const { close } of offers.splice(0)) close()
})
const offer = async (options?: { validity: number }) => {
  const made = await offerSignIn(KEY, options)
  offers.push(made)
  return made
}

const give = async (address: string, code: string, method = 'POST') => {
  const answer = await fetch(address, { method, ...(method === 'POST' && { body: code }) })
  return [answer.status, await answer.text()]
}

it('[G14] the code of the link gives the key once', async () => {
  const { code, address } = await offer()
  expect(new URL(address).hostname).toBe('127.0.0.1')
  expect(code).toMatch(/^[\w-]{43}$/)
  expect(await give(address, code)).toEqual([200, KEY])
  expect(await give(address, code)).toEqual([401, ''])
})

it('[G14] of requests at once, only one gets the key', async () => {
  const { code, address } = await offer()
  const answers = await Promise.all(Array.from({ length: 10 }, () => give(address, code)))
  expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
})

it('[G14] a wrong code gives nothing, and does not use the link up', async () => {
  const { code, address } = await offer()
  for (const wrong of ['', 'a', `${code}a`, code.slice(1), 'a'.repeat(100_000)])
    expect((await give(address, wrong).catch(() => [401]))[0]).toBe(401)
  expect((await give(address, code, 'GET'))[0]).toBe(401)
  expect(await give(address, code)).toEqual([200, KEY])
})

it('[G14] a code that is too old gives nothing', async () => {
  const { code, address } = await offer({ validity: 0 })
  expect(await give(address, code)).toEqual([401, ''])
})

it('[G14] only the start with a demo sets the address of a sign-in, and npm run serve passes none to the Worker', () => {
  const scripts = join(import.meta.dirname, '..', '..', 'scripts')
  const named = readdirSync(scripts, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.mjs') && readFileSync(join(scripts, name), 'utf8').includes('CONSOLE_SIGN_IN'),
  )
  expect(named.toSorted()).toEqual(['serve/demo.mjs'])
  const serve = readFileSync(join(scripts, 'serve.mjs'), 'utf8')
  expect(serve.match(/^.*makeDemo\(.*$/gm)).toEqual([
    '  const demo = isDemo ? await makeDemo(env) : undefined',
  ])
  expect(serve.match(/^.*isDemo: (?!boolean).*$/gm)).toEqual([
    '    return serve({ isBuilt: isPackage, isDemo: true })',
  ])
  expect(serve).toContain(
    "  } else if (command === 'start' && file === undefined) {\n    return serve({ isBuilt: isPackage, isDemo:",
  )
})
