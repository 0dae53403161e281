/** `npm run deploy` with the real wrangler. test/long/server/deploy.test.ts has the failures and the other options. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { cloudflare } from '../helpers/server/cloudflare'

const scene = cloudflare()

it('`npm run wrangler` is the wrangler of the project', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'wrangler', '--', '--version'])
  expect(stdout).toMatch(/^4\.\d+\.\d+$/m)
})

it('makes all that an empty account lacks, and says how to use it; a second run changes nothing of it', async () => {
  await scene.control({ faults: [{ call: 'POST /d1/database/[^/]+/import poll', how: 'idle' }] })
  const { code, output } = await scene.deploy('--location', 'weur')
  const before = await scene.control()
  const { databases, namespaces, queues, workers, domains, adminKeys } = before
  const { laurel } = workers
  expect([code, Object.keys(workers), domains], output).toEqual([0, ['laurel'], []])
  expect(databases).toMatchObject([{ name: 'laurel', place: 'weur' }])
  expect(namespaces).toMatchObject([{ title: 'laurel-keys' }])
  const names = ['laurel-repairs', 'laurel-outbox', 'laurel-dead-letters']
  expect(queues.map(({ queue_name: name }) => name)).toEqual(names)
  expect(queues.flatMap(({ consumers }) => consumers.map(({ script }) => script))).toEqual(
    Array(3).fill('laurel'),
  )
  expect(laurel).toMatchObject({
    crons: ['*/5 * * * *'],
    subdomain: { enabled: true, previews_enabled: false },
    settings: { compatibility_flags: ['global_fetch_strictly_public'] },
  })
  const { TOKEN_SECRET: secret = '', ADMIN_API_KEY: key = '', ...others } = laurel?.secrets ?? {}
  expect([secret, key, others]).toEqual([
    expect.stringMatching(/^[\w-]{43}$/),
    expect.stringMatching(/^adm_\w{12}\.[\w-]{43}$/),
    {},
  ])
  expect(output).not.toContain(secret)
  expect(output).toContain(`\n  Admin key  ${key}  (it is shown only now: keep it)\n`)
  expect(output).toContain("curl -sS https://laurel.ada.workers.dev/admin/v1/metrics -H 'X-API-KEY: adm_")
  const [link] = adminKeys
  expect(output).toContain(`\nhttps://laurel.ada.workers.dev/console#code=${link?.id}:${link?.key}\n`)
  expect(output).toMatch(/Workers Paid, which costs \$5 a month.*Making the D1 database/s)
  expect(output).toContain('npm run deploy -- --domain laurel.example.com')

  const again = await scene.deploy()
  expect(again, again.output).toMatchObject({ code: 0 })
  const after = await scene.control()
  const { calls, queries } = before
  expect({ ...after, calls, queries, workers }).toEqual(before)
  expect(after.workers.laurel).toMatchObject({ secrets: laurel?.secrets, bindings: laurel?.bindings })
  expect(after.workers.laurel?.versions).toHaveLength(2)
  expect(again.output).not.toMatch(/Making|Workers Paid|adm_|#code=/)
  expect(again.output).toContain('Laurel is deployed, and healthy.')
})
