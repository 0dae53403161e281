/** What the pages of docs/ show is run as it stands there, against a server. */
import { spawnSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Example, examplesOf, expectation, filesOf, Shell } from './examples'
import { freePort, newProject, type Server, startServer } from './harness'
import { commandLine, descendants } from './processes'

/** How long what is said to be so "a moment later" may take, in milliseconds. */
const PATIENCE = 10_000

const hasShell = ['curl', 'bash'].every((command) => spawnSync(command, ['--version']).status === 0)

describe.skipIf(!hasShell)('the examples of the documents', () => {
  let server: Server
  let folder: string

  beforeAll(async () => {
    folder = await newProject()
    server = await startServer({ folder, env: { MULTI_TENANCY: 'on' } })
  })
  afterAll(async () => {
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  // A page that fails leaves the clock of all as it was.
  afterEach(async () => {
    await fetch(`${server.url}/admin/v1/test-clock`, {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    })
  })

  test.each(['api.md', 'migrating.md', 'notifications.md', 'webhooks.md'])(
    '%s says what is answered',
    async (name) => {
      const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', name), 'utf8')
      const examples = examplesOf(page)
      // Each block of the page is among them, so that none can lie.
      const blocksOf = (language: string) => page.split(`\`\`\`${language}\n`).length - 1
      expect(examples).toHaveLength(blocksOf('bash'))
      expect(examples.filter(({ expected }) => expected?.body !== undefined)).toHaveLength(blocksOf('json'))

      for (const [file, code] of filesOf(page)) await writeFile(join(folder, file), code)
      const tenant = await newTenant(name)
      const shell = new Shell(folder, {
        PORT: String(server.port),
        RECEIVER: String(await freePort()),
        NODE_OPTIONS: optionFor(tenant),
      })
      try {
        for (const example of examples) {
          // Only what is said of tenants shows that there are several.
          shell.curlOptions = example.heading === 'Tenants' ? [] : ['-H', `Tenant-ID: ${tenant}`]
          await holds(shell, example, `docs/${name}:${example.line}`)
        }
        await expect
          .poll(() => receiverOf(shell), { message: `${name} ends what it has started` })
          .toBeUndefined()
      } finally {
        const receiver = receiverOf(shell)
        if (receiver !== undefined) process.kill(receiver.id)
      }
    },
  )

  /** Creates a tenant, which answers to the name. */
  async function newTenant(customerId: string): Promise<string> {
    const response = await fetch(`${server.url}/admin/v1/tenants`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify([{ customerId, name: customerId }]),
    })
    expect(response.status).toBe(201)
    return customerId
  }
})

/** The receiver that the examples have started last, while it runs. */
function receiverOf({ variables }: Shell) {
  const [found] = descendants(Number(variables.get('RECEIVER_PID') ?? Number.NaN))
  return found !== undefined && commandLine(found).includes('.mjs') ? found : undefined
}

/** An option for Node by which every fetch of a script names the tenant. */
function optionFor(tenant: string): string {
  const code = `const send = fetch
globalThis.fetch = (input, init) => {
  const request = new Request(input, init)
  request.headers.set('tenant-id', '${tenant}')
  return send(request)
}`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

/** Runs an example, and holds that it comes to what the page says; what is so a moment later is asked for until it is. */
async function holds(shell: Shell, { commands, expected, isLate }: Example, place: string): Promise<void> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const { status, headers, body } = await shell.run(commands)
    if (expected === null) {
      expect([null, 200, 201, 202], place).toContain(status)
      return
    }
    const named = Object.entries(headers).filter(([name]) => name in expected.headers)
    const came = { status, headers: Object.fromEntries(named), body }
    const variables = new Map(shell.variables)
    const wanted = expectation(
      expected.body === undefined ? { ...expected, body } : expected,
      came,
      variables,
    )
    if (isLate && !isDeepStrictEqual(came, wanted) && performance.now() < deadline) {
      await sleep(100)
      continue
    }
    expect(came, place).toStrictEqual(wanted)
    shell.variables = variables
    return
  }
}
