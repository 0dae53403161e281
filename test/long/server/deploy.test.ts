/** `npm run deploy` and `npm run undeploy`: each failure, each option. test/server/deploy.test.ts has the usual way. */
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cloudflare, databaseBlock, type Outcome } from '../../helpers/server/cloudflare'
import { ACCOUNT, OWNED_TOKEN, type State } from '../../helpers/server/cloudflare-server'
import { freePort } from '../../helpers/server/harness'
import { directoryOf } from '../../helpers/server/local-state'

const scene = cloudflare()
const PLACE = ['--location', 'weur']

/** What of an account does not depend on when and how often it was asked. */
const made = ({ databases, namespaces, queues, workers, domains }: State) => ({
  databases: databases.map(({ name, tables, place }) => [name, tables, place]),
  namespaces: namespaces.map(({ title }) => title),
  queues: queues.map(({ queue_name: name, consumers }) => [name, consumers.map(({ script }) => script)]),
  workers: Object.entries(workers).map(([name, { bindings, secrets, crons, subdomain, assets }]) => {
    const bound = bindings.map((binding) => [binding.type, binding.name])
    return [name, bound, Object.keys(secrets).sort(), crons, subdomain, assets]
  }),
  domains: domains.map(({ hostname, service }) => [hostname, service]),
})

/** What a whole deployment is. */
const COMPLETE = {
  databases: [['laurel', expect.any(Number), 'weur']],
  namespaces: ['laurel-keys'],
  queues: ['repairs', 'outbox', 'dead-letters'].map((name) => [`laurel-${name}`, ['laurel']]),
  workers: [
    [
      'laurel',
      expect.arrayContaining([
        ['d1', 'DB'],
        ['kv_namespace', 'KEYS'],
        ['queue', 'OUTBOX'],
      ]),
      ['ADMIN_API_KEY', 'TOKEN_SECRET'],
      ['*/5 * * * *'],
      { enabled: true, previews_enabled: false },
      ['/page'],
    ],
  ],
  domains: [],
}

/** Expects that a run has failed before it changed something. */
async function expectUnchanged({ code, output }: Outcome, reason: string | RegExp) {
  expect(code, output).toBe(1)
  expect(output).toMatch(reason)
  const { calls } = await scene.control()
  expect(calls.filter((call) => !call.startsWith('GET ') && !call.endsWith('/query'))).toEqual([])
}

/** Expects that a deployment with these options fails before it changes something. */
const expectRefused = async (reason: string | RegExp, ...options: string[]) =>
  expectUnchanged(await scene.deploy(...options), reason)

/** Expects that a deployment with these options succeeds. Returns what it says. */
async function deployed(...options: string[]): Promise<string> {
  const { code, output } = await scene.deploy(...options)
  expect(code, output).toBe(0)
  return output
}

describe('on an account that has nothing', () => {
  /** What the deployment asks itself, and what wrangler asks, at first and later, in the order of these steps. */
  const ASKED = [
    ...['GET /accounts', 'GET /workers/scripts/laurel/settings', 'GET /workers/domains', 'GET /d1/database'],
    ...['GET /storage/kv/namespaces', 'GET /queues', 'GET /workers/subdomain', 'PUT /workers/subdomain'],
    ...['POST /d1/database', 'POST /storage/kv/namespaces', 'POST /queues', 'POST /d1/database/[^/]+/query'],
    ...['init', 'ingest', 'poll'].map((action) => `POST /d1/database/[^/]+/import ${action}`),
    ...['GET /d1/database/[^/]+/time_travel/bookmark', 'GET /workers/scripts/laurel/secrets'],
    'GET /workers/scripts/laurel/deployments',
  ]
  const BY_WRANGLER = [
    ...['GET /workers/services/laurel', 'POST /workers/scripts/laurel/assets-upload-session'],
    ...['POST /workers/assets/upload', 'PUT /workers/scripts/laurel'],
    ...['POST /workers/scripts/laurel/versions', 'POST /workers/scripts/laurel/deployments'],
    ...['PATCH /workers/scripts/laurel/script-settings', 'GET /workers/workers/laurel'],
    ...['POST /workers/scripts/laurel/subdomain', 'PUT /workers/scripts/laurel/schedules'],
    ...['POST /queues/[^/]+/consumers', 'PUT /queues/[^/]+/consumers/.+'],
  ]
  const UNANSWERED = 'Cloudflare (answered \\d+ to|did not answer)'
  const AGAIN = 'The deployment failed. .* Run this again: it goes on'
  /** All steps, with what a run says that stops there. */
  const STEPS: Record<string, string> = {
    ...Object.fromEntries(ASKED.map((call) => [call, `${UNANSWERED} ${call.replace(/ \w+$/, '')}`])),
    'PUT /upload/.+': `${UNANSWERED} the upload of a migration`,
    ...Object.fromEntries(BY_WRANGLER.map((call) => [`wrangler ${call}`, AGAIN])),
    'GET /health':
      'is not healthy after 0 seconds. The last answer of /health:\n  (500|403|fetch failed|no answer)',
    'POST /admin/v1/admin-api-keys':
      'The link to the console could not be made: (Laurel answered|fetch|no answer)',
  }

  it.each([
    [500, () => true],
    [403, () => true],
    // A GET without an answer is sent again at once, and nobody polls for an import that is seen to be done.
    ['lost', (call: string) => !/GET |import poll$/.test(call)],
    // Wrangler as a whole has a limit, whichever of its questions gets no answer.
    ['held', (call: string) => !call.startsWith('wrangler ') || call.endsWith('PUT /workers/scripts/laurel')],
  ] as const)(
    'each run goes on after the one before, if each step fails once: %s',
    async (how, hasFault) => {
      const calls = Object.keys(STEPS).filter(hasFault)
      await scene.control({ subdomain: '', faults: calls.map((call) => ({ call, how })) })
      const patience = how === 'held' ? { LAUREL_PATIENCE: '2' } : {}
      const args = ['--built', '--url', scene.origin, ...PLACE, '--subdomain', 'ada', '--wait', '0']
      const outputs: string[] = []
      for (let left = calls; left.length > 0; ) {
        expect(outputs.length).toBeLessThan(2 * calls.length)
        const { code, output } = await scene.run('deploy', args, patience)
        outputs.push(output)
        expect(output).not.toMatch(/\n {4}at /)
        const state = await scene.control()
        const failed = left.filter((call) => !state.left.includes(call))
        left = state.left
        // Otherwise nothing asks what is left.
        if (code === 0) expect(failed, left.join()).not.toEqual([])
        // Wrangler tries some steps again by itself, and goes on.
        const sentences = failed.map((call) => STEPS[call]).join('|')
        if (code === 1) expect(output, failed.join()).toMatch(new RegExp(sentences))
        if (code === 1 && how === 403 && !failed.some((call) => /health|upload\//.test(call)))
          expect(output, failed.join()).toMatch(/It needs `(Account|Zone): [\w ]+: (Edit|Read)`/)
        if (code === 1 && how === 'held') expect(output).toMatch(/ within (2|20) seconds/)
        if (failed.includes('POST /admin/v1/admin-api-keys')) expect(output).toMatch(new RegExp(sentences))
      }
      const last = await scene.deploy(...PLACE)
      expect(last.code, last.output).toBe(0)
      const state = await scene.control()
      expect(made(state)).toEqual(COMPLETE)
      // The key that the Worker has was printed by the one run that was the first to succeed.
      const key = state.workers.laurel?.secrets.ADMIN_API_KEY ?? ''
      expect([...outputs, last.output].filter((output) => output.includes(key))).toHaveLength(1)
      expect(readdirSync(scene.file('.wrangler', 'deployments')).join()).not.toContain('secrets')
    },
    900_000,
  )

  it('asks for what is missing without a terminal: where the database is, and the name at workers.dev', async () => {
    await expectRefused(/such as --location weur, the nearest to this computer/)
    await expectRefused('--location must be one of these, not mars', '--location', 'mars')
    await scene.control({ subdomain: '' })
    await expectRefused('such as --subdomain your-company. Nothing was changed.', ...PLACE)
    const output = expect.stringContaining('Subdomain is unavailable. (10031)')
    expect(await scene.deploy(...PLACE, '--subdomain', 'taken')).toMatchObject({ code: 1, output })
    const said = await deployed('--jurisdiction', 'eu', '--subdomain', 'byron')
    expect(said).toContain('https://laurel.byron.workers.dev/console')
    expect((await scene.control()).databases).toMatchObject([{ place: 'eu' }])
  })

  it.each([
    [[], /Workers Paid, which costs \$5.*D1 database +laurel +is made\n/s],
    [['--name', 'staging'], /queue +staging-dead-letters +is made\n/],
  ])('says what it would make with the options %j, and makes nothing', async (options, said) => {
    const { code, output } = await scene.deploy('--dry-run', ...options)
    await expectUnchanged({ code: code + 1, output }, said)
  })

  it('serves on a domain, leaves it there, and refuses one that is not of the account', async () => {
    const domain = ['--domain', 'laurel.example.com']
    await expectRefused('no domain to which laurel', ...PLACE, '--domain', 'laurel.xn--p1ai')
    await expectRefused('--domain must be a host', ...PLACE, '--domain', 'https://a')
    await scene.control({ zone: 'example.com' })
    const said = await deployed(...PLACE, ...domain)
    expect(said).toContain('\nhttps://laurel.example.com/console#code=')
    expect(said).not.toContain('Everybody can reach')
    await deployed()
    const { domains, workers } = await scene.control()
    expect(domains).toMatchObject([{ hostname: 'laurel.example.com', service: 'laurel' }])
    expect(workers.laurel?.subdomain).toEqual({ enabled: false, previews_enabled: false })
    const other = await scene.deploy(...PLACE, ...domain, '--name', 'staging')
    expect(other).toMatchObject({ code: 1, output: expect.stringContaining('belongs to the Worker laurel') })
  })

  it.runIf(process.platform === 'linux')('has failed if wrangler is told not to go on', async () => {
    expect(await scene.deploy(...PLACE)).toMatchObject({ code: 0 })
    await scene.control({ changedBy: 'api' })
    const { code, output } = await scene.refuse('continue?')
    expect(code, output).toBe(1)
    expect(output).toMatch(/wrangler was told not to go on\.\s+The deployment failed\./)
    expect((await scene.control()).workers.laurel?.versions).toHaveLength(1)
  })

  it.runIf(process.platform === 'linux')('says that Ctrl-C at a question has stopped it', async () => {
    const { code, output } = await scene.refuse('Where will it be?', '\x03')
    expect(code, output).toBe(1)
    expect(output).toMatch(/This was stopped\. Nothing was changed\.\s*$/)
    expect(output).not.toMatch(/\n {4}at /)
  })

  it('keeps two deployments apart, and deletes one of them', async () => {
    scene.configure((text) => `vars = { ENVIRONMENT = "x", PUBLIC_URL = "https://p.example.com" }\n${text}`)
    await deployed(...PLACE)
    await deployed(...PLACE, '--name', 'staging')
    const both = await scene.control()
    expect(both.databases.map(({ name }) => name)).toEqual(['laurel', 'staging'])
    expect(both.namespaces.map(({ title }) => title)).toEqual(['laurel-keys', 'staging-keys'])
    expect(both.queues.map(({ queue_name: name }) => name).slice(3)).toEqual(
      ['repairs', 'outbox', 'dead-letters'].map((name) => `staging-${name}`),
    )
    const { laurel, staging } = both.workers
    for (const type of ['d1', 'kv_namespace', 'ratelimit', 'queue']) {
      const ofType = (worker: typeof laurel) => worker?.bindings.filter((it) => it.type === type) ?? []
      const [one, other] = [ofType(laurel), ofType(staging)]
      expect(one).toHaveLength(other.length)
      for (const binding of one) expect(other).not.toContainEqual(binding)
    }

    scene.configure((text) => text.replace(/^vars = .*/, ''))
    const lost = await scene.deploy('--dry-run')
    expect(lost.output).toMatch(/variable +ENVIRONMENT +is deleted: .*\n +variable +PUBLIC_URL +is deleted/)
    scene.configure((text) => `keep_vars = true\n${text}`)
    expect((await scene.deploy('--dry-run')).output).not.toContain('is deleted')

    const undeploy = (...args: string[]) => scene.run('undeploy', ['--name', 'staging', ...args])
    const asked = await undeploy()
    expect(asked.output).toMatch(/Worker staging, with.*D1 database staging\n.*Add --confirm staging/s)
    const wrong = await undeploy('--confirm', 'laurel')
    expect(wrong.output).toContain('The name is staging. Nothing was changed.')
    // After a failure, the next run deletes the rest.
    await scene.control({ faults: [{ call: 'DELETE /storage/kv/namespaces/\\w+', how: 'lost' }] })
    expect(await undeploy('--confirm', 'staging')).toMatchObject({ code: 1 })
    const { code, output } = await undeploy('--confirm', 'staging')
    expect(code, output).toBe(0)
    const { databases, namespaces, queues, workers } = await scene.control()
    expect(Object.keys(workers)).toEqual(['laurel'])
    expect([databases.length, namespaces.length, queues.length]).toEqual([1, 1, 3])
    expect((await undeploy()).output).toBe('The account has nothing of staging.\n')
  })
})

describe('names that are taken', () => {
  it('changes nothing if the Worker, a database or a queue belongs to something else', async () => {
    await scene.control({ database: { name: 'laurel', sql: 'CREATE TABLE orders (id INTEGER)' } })
    await expectRefused("a D1 database called laurel that is not Laurel's", ...PLACE)
    await scene.control({ worker: { name: 'laurel', classes: ['Room'] } })
    await expectRefused('a Worker called laurel that is not Laurel. Choose another', ...PLACE)
    await scene.control({ queues: ['mine-outbox'], reader: ['mine-outbox', 'laurel'] })
    await expectRefused('The queue mine-outbox is read by the Worker laurel.', ...PLACE, '--name', 'mine')
    await expectRefused("can't be a name", ...PLACE, '--name', 'Not a name')
    await deployed(...PLACE, '--name', 'laurel-2')
  })

  it('changes nothing if a database of the name is one of another deployment', async () => {
    scene.configure((text) => text + databaseBlock(2))
    await deployed(...PLACE)
    const { databases, workers } = await scene.control()
    const { code, output } = await scene.deploy(...PLACE, '--name', 'laurel-2')
    expect(code, output).toBe(1)
    expect(output).toContain('The D1 database laurel-2 belongs to the Worker laurel. Choose another name')
    const after = await scene.control()
    expect([after.databases, Object.keys(after.workers)]).toEqual([databases, Object.keys(workers)])
  })
})

describe('a token', () => {
  const DOMAIN = ['--domain', 'laurel.example.com']
  const RIGHTS: [right: string, named: string, ...options: string[]][] = [
    ['Workers Scripts', 'Account: Workers Scripts: Edit'],
    ['D1', 'Account: D1: Edit'],
    ['Workers KV Storage', 'Account: Workers KV Storage: Edit'],
    ['Queues', 'Account: Queues: Edit'],
    ['Account Settings', 'Account: Account Settings: Read'],
    ['Zone', 'Zone: Zone: Read', ...DOMAIN],
  ]

  it.each(RIGHTS)(
    'without the right %s is told so, and changes nothing',
    async (right, named, ...options) => {
      await scene.control({ lacks: [right], zone: 'example.com' })
      await expectRefused(`\`${named}\``, ...PLACE, ...options)
    },
  )

  it('without the right to a zone is told so by wrangler, for a domain and for a route; the next run goes on', async () => {
    await scene.control({ lacks: ['Workers Routes'], zone: 'example.com' })
    const named = 'It needs `Zone: Workers Routes: Edit`'
    const domain = await scene.deploy(...PLACE, ...DOMAIN)
    expect(domain).toMatchObject({ code: 1, output: expect.stringContaining(named) })
    scene.configure((text) => `routes = ["laurel.example.com/*"]\n${text}`)
    const route = await scene.deploy(...PLACE)
    expect(route).toMatchObject({ code: 1, output: expect.stringContaining(named) })
    await scene.control({ lacks: [] })
    await deployed(...PLACE)
  })

  it('needs the rights that docs/deploying.md lists', () => {
    const listed = readFileSync('docs/deploying.md', 'utf8').match(
      /(Account|Zone): [\w ]+: (Edit|Read)(?=,| \|)/g,
    )
    expect(listed).toEqual([...RIGHTS.map(([, named]) => named), 'Zone: Workers Routes: Edit'])
  })

  it('that is missing or wrong is told so', async () => {
    const deploy = (token: string) =>
      scene.run('deploy', ['--built', ...PLACE], { CLOUDFLARE_API_TOKEN: token })
    await expectUnchanged(await deploy(''), 'You are not logged in. Run `npm run wrangler -- login`')
    await expectUnchanged(await deploy('x'), 'Invalid access token')
    for (const token of ['secret\npart', '“secret”']) {
      const odd = await deploy(token)
      await expectUnchanged(odd, 'CLOUDFLARE_API_TOKEN has a space, a line end')
      expect(odd.output).not.toContain('secret')
    }
  })

  it('that the account owns is told to name the account, and deploys then', async () => {
    const owned = { CLOUDFLARE_API_TOKEN: OWNED_TOKEN }
    const nameless = await scene.run('deploy', ['--built', ...PLACE], owned)
    await expectUnchanged(nameless, 'The token belongs to an account. Name that in CLOUDFLARE_ACCOUNT_ID.')
    const named = { ...owned, CLOUDFLARE_ACCOUNT_ID: ACCOUNT }
    const { code, output } = await scene.run('deploy', ['--built', '--url', scene.origin, ...PLACE], named)
    expect(code, output).toBe(0)
  })

  it('behind a proxy is told how to use it', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const closed = { CLOUDFLARE_API_BASE_URL: url, https_proxy: 'http://proxy' }
    const { output } = await scene.run('deploy', ['--built', ...PLACE], closed)
    expect(output).toMatch(/did not answer GET \/accounts: .*\nHTTPS_PROXY is set, .* NODE_USE_ENV_PROXY=1/)
  })
})

describe('a deployment that was made by hand', () => {
  const KEY = `adm_mine.${'k'.repeat(43)}`

  it('[K6] keeps its ids, is migrated, gets the secret of tokens, and no admin key', async () => {
    await scene.deployed(['mine'], { isMigrated: false })
    const { databases, namespaces } = await scene.control({ namespace: 'MINE' })
    const id = databases[0]?.uuid
    scene.configure((text) =>
      text
        .replace('database_name = "laurel"', `database_name = "mine"\ndatabase_id = "${id}"`)
        .replace('binding = "KEYS"', `binding = "KEYS"\nid = "${namespaces[1]?.id}"`)
        .replace('preview_urls', 'workers_dev = false\npreview_urls'),
    )
    const output = await deployed()
    const state = await scene.control()
    expect([state.databases.length, state.namespaces.length]).toEqual([1, 2])
    const { bindings = [], secrets = {}, subdomain } = state.workers.laurel ?? {}
    const keys = { name: 'KEYS', namespace_id: namespaces[1]?.id }
    for (const kept of [{ name: 'DB', id }, keys])
      expect(bindings).toContainEqual(expect.objectContaining(kept))
    expect([Object.keys(secrets), subdomain?.enabled]).toEqual([['TOKEN_SECRET'], false])
    expect(output).not.toContain('adm_')
    const log = readFileSync(scene.file('.wrangler', 'deployments.log'), 'utf8')
    const bookmark = /^\S+Z [\da-f-]{36} (\S+)\n$/.exec(log)
    expect(bookmark?.[1]).toMatch(new RegExp(`^0000000\\d-.*-${id?.replaceAll('-', '')}$`))
    expect(output).toContain(bookmark?.[1])
    // The first imports were sent whole, with their notes.
    const names = readdirSync(scene.file('migrations')).filter((name) => name.endsWith('.sql'))
    for (const name of names) expect(output).toContain(`  mine: ${name}\n`)
    const again = await scene.deploy()
    expect(again.output).not.toContain('.sql')
  })

  it('[K4, K6] keeps secrets that somebody has set after a run that failed', async () => {
    await scene.control({ health: { status: 503, body: { error: 'Not yet.' } } })
    expect(await scene.deploy(...PLACE, '--wait', '0')).toMatchObject({ code: 1 })
    const file = scene.file('.wrangler', 'deployments', `${ACCOUNT}.laurel.secrets.json`)
    const ofWorker = JSON.parse(readFileSync(file, 'utf8'))
    // The run that failed had made others than the Worker has now.
    writeFileSync(file, JSON.stringify({ ADMIN_API_KEY: KEY, TOKEN_SECRET: 's'.repeat(43) }))
    await scene.control({ health: { status: 200, body: { status: 'ok' } } })
    const output = await deployed()
    expect((await scene.control()).workers.laurel?.secrets).toEqual(ofWorker)
    expect(output).toContain('Laurel does not take the admin key that was made here.')
    expect(output).not.toContain(KEY)
    expect(await deployed()).not.toContain('the admin key')
  })

  it('takes an id of zeros for none, and sets the admin key that it is given or asked for', async () => {
    const zeros = `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`
    scene.configure((text) => text.replace(/(name = "laurel"\n)(?=mig)/, `$1database_id = "${zeros}"\n`))
    const options = ['--built', '--url', scene.origin]
    const bad = await scene.run('deploy', [...options, ...PLACE], { ADMIN_API_KEY: 'short' })
    await expectUnchanged(bad, 'ADMIN_API_KEY must have at least 32 characters')
    const given = await scene.run('deploy', [...options, ...PLACE], { ADMIN_API_KEY: KEY })
    expect([given.code, given.output.includes('adm_')], given.output).toEqual([0, false])
    expect((await scene.control()).workers.laurel?.secrets.ADMIN_API_KEY).toBe(KEY)
    const { output } = await scene.deploy('--new-admin-key')
    const { ADMIN_API_KEY: key = KEY } = (await scene.control()).workers.laurel?.secrets ?? {}
    expect(key).not.toBe(KEY)
    expect(output).toContain(`Admin key  ${key}`)
  })

  it('is not given another database if its own is gone', async () => {
    await deployed(...PLACE)
    await scene.control({ lose: 'laurel' })
    const { code, output } = await scene.deploy(...PLACE)
    expect([code, (await scene.control()).databases], output).toEqual([1, []])
    expect(output).toContain('could not be asked which databases hold users. Nothing was changed.')
  })
})

describe('a deployment that is not healthy', () => {
  const FAULTY = { status: 503, body: { error: 'Missing bindings: OUTBOX.' } }
  /** What a run says of the way back. */
  const wayBack = (output: string) => {
    const [, bookmark = ''] = / --bookmark=(\S+)\n/.exec(output) ?? []
    const [, version = ''] = /wrangler -- rollback (\S+) --name laurel\n/.exec(output) ?? []
    return { bookmark, version }
  }

  it('notes the version and the moment before each run, and says which of them to go back to', async () => {
    await scene.deployed(['laurel'], { isMigrated: false })
    const [served = ''] = (await scene.control()).workers.laurel?.versions ?? []
    await scene.control({ health: FAULTY })
    const first = await scene.deploy('--wait', '0')
    expect(wayBack(first.output)).toEqual({
      bookmark: expect.stringMatching(/^0000000[1-9]-/),
      version: served,
    })
    // As it was told: it adds something, and deploys again.
    const again = await scene.deploy('--wait', '0')
    expect(wayBack(again.output).version).not.toBe(served)
    expect(again.output).toContain(
      'If deployments before this one have failed too, go back to what .wrangler/deployments.log has of the first',
    )
    const [noted = ''] = readFileSync(scene.file('.wrangler', 'deployments.log'), 'utf8').split('\n')
    expect(noted.split(' ').slice(1)).toEqual([served, wayBack(first.output).bookmark])
  })
})

describe('with three databases', () => {
  const names = ['laurel', 'laurel-2', 'laurel-3']
  const three = async () => {
    await scene.deployed(names, { isMigrated: false })
    scene.configure((text) => text + databaseBlock(3) + databaseBlock(2))
  }

  it('[B3, M1] notes one time for all of them, migrates each, and says how to bring all back', async () => {
    await three()
    await scene.control({ health: { status: 503, body: { error: 'Missing bindings: OUTBOX.' } } })
    const { code, output } = await scene.deploy('--wait', '0')
    expect(code, output).toBe(1)
    const noted = readFileSync(scene.file('.wrangler', 'deployments.log'), 'utf8')
    const [, time = ''] = /^(\S+Z) [\da-f-]{36} laurel laurel-2 laurel-3\n$/.exec(noted) ?? []
    expect(output).toContain(`${time} of laurel, laurel-2 and laurel-3`)
    const restore = '  npm run wrangler -- d1 time-travel restore'
    const back = names.map((name) => `${restore} ${name} --timestamp=${time}\n`).join('')
    expect(output).toContain('503 {"error":"Missing bindings: OUTBOX."}')
    expect(output).toMatch(/npm run wrangler -- rollback [\da-f-]{36} --name laurel/)
    expect(output).toContain(`${back}Then check out the version before`)
    expect(output).toContain('A version from before a database was added does not know the users')
    const { databases } = await scene.control()
    expect(new Set(databases.map(({ tables }) => tables)).size).toBe(1)
  })

  it('[B3, M1] stops if one cannot be migrated, and names it and those after it', async () => {
    await three()
    await scene.control({ database: { name: 'laurel-2', sql: 'CREATE VIEW users AS SELECT 1' } })
    const { code, output } = await scene.deploy()
    expect(code, output).toBe(1)
    expect(output).toContain('already exists')
    expect(output).toContain(
      'The migrations of laurel-2 failed. The Worker was not deployed. laurel-3 was not migrated.',
    )
    expect(output).toMatch(/restore laurel-3 --timestamp=\S+Z\nThen check out.*\n {2}npm run restored/)
    const { databases, workers } = await scene.control()
    expect(databases.map(({ tables }) => tables > 2)).toEqual([true, false, false])
    expect(workers.laurel?.versions).toHaveLength(1)
  })

  it('[B3] calls nothing if one between them is missing', async () => {
    scene.configure((text) => text + databaseBlock(3))
    await expectRefused('the binding DB_2', ...PLACE)
  })

  it('[B3] does not leave out a database that holds users', async () => {
    await scene.deployed(['laurel'])
    const sql = directoryOf([
      [0, 'DB'],
      [2048, 'DB_2'],
    ])
    await scene.control({ database: { name: 'laurel', sql } })
    await expectRefused(
      /DB_2 holds users, but wrangler.toml does not bind it. Nothing was changed.\nPut its block back in wrangler.toml, commit that.*\{"weights":\{"DB_2":0\}\}/s,
    )
    await scene.control({ database: { name: 'laurel-2', sql: '' } })
    scene.configure((text) => text + databaseBlock(2))
    await deployed()
  })
})

describe('wrangler.toml and options', () => {
  it('calls nothing if it has variables that cannot work, and names them without their values', async () => {
    scene.configure((text) => `vars = { EMAIL_FROM = "Ada Byron", MULTI_TENANCY = true }\n${text}`)
    const outcome = await scene.deploy()
    await expectUnchanged(outcome, /EMAIL_FROM must be an email address.*MULTI_TENANCY must be on or off\./s)
    expect(outcome.output).not.toContain('Ada Byron')
  })

  it('calls nothing while it lacks something that the Worker needs, and names all of it', async () => {
    const parts: [lack: string, part: RegExp][] = [
      ['the binding DB', /\[\[d1_databases\]\][^[]*/],
      ['the binding KEYS', /\[\[kv_namespaces\]\][^[]*/],
      ['the binding ASSETS', /binding = "ASSETS"\n/],
      ['the binding ADMIN_LIMIT', /\[\[ratelimits\]\]\nname = "ADMIN_LIMIT"\n.*\n.*\n/],
      ['the binding TIMEKEEPER', /\[\[durable_objects\.bindings\]\]\nname = "TIMEKEEPER"\n.*\n/],
      ['the binding OUTBOX', /\[\[queues\.producers\]\]\nbinding = "OUTBOX"\n.*\n/],
      ['a [[queues.consumers]] for the queue laurel-repairs', /\[\[queues\.consumers\]\][^[]*/],
      ['the cron trigger: crons in [triggers]', /\[triggers\]\n.*\n/],
    ]
    scene.configure((text) => {
      for (const [, part] of parts) expect(text).toMatch(part)
      return parts.reduce((rest, [, part]) => rest.replace(part, ''), text)
    })
    await expectRefused(`wrangler.toml lacks:\n${parts.map(([lack]) => `  ${lack}\n`).join('')}Add`)
  })

  it.each([
    ['route = { pattern = "laurel.example.com", custom_domain = true }', 'laurel'],
    ['routes = ["*.example.com/*", "b.example.com/v1/*", "c.example.com/*"]', 'c'],
    ['routes = ["*.example.com/*"]\nvars = { PUBLIC_URL = "https://p.example.com/" }', 'p'],
  ])('serves at the address of %s', async (routes, name) => {
    scene.configure((text) => `${routes}\n${text}`)
    const { output } = await scene.deploy('--dry-run')
    expect(output).toMatch(new RegExp(`address +https://${name}.example.com/?\n`))
  })

  it.each([
    [['--url', 'laurel.example.com'], 'begins with https://'],
    [['--wait', '2m'], '--wait must be a whole number of seconds'],
    [['--dryrun'], 'npm run deploy -- [OPTIONS]'],
  ])('calls nothing with the options %j', async (options, reason) => {
    await expectUnchanged(await scene.run('deploy', options), reason)
  })

  it('does not take the 200 of another site for health, and keeps the admin key until it can show it', async () => {
    await scene.control({ health: { status: 200, body: { parked: true } } })
    const { code, output } = await scene.deploy(...PLACE, '--wait', '0')
    expect(code).toBe(1)
    expect(output).toContain('200 {"parked":true}')
    expect(output).not.toMatch(/adm_|rollback/)
    const nowhere = await scene.deploy('--url', `http://127.0.0.1:${await freePort()}`, '--wait', '0')
    expect(nowhere.output).toMatch(/is not healthy after 0 seconds.*fetch failed: connect ECONNREFUSED/s)
    await scene.control({ health: { status: 200, body: { status: 'ok' } } })
    const said = await deployed()
    expect(said).toContain(`Admin key  ${(await scene.control()).workers.laurel?.secrets.ADMIN_API_KEY}`)
  })

  it('asks before it builds, and deploys the Worker and the console that it has built', async () => {
    for (const name of ['console', 'clients', 'README.md'])
      symlinkSync(join(import.meta.dirname, '..', '..', '..', name), scene.file(name))
    rmSync(scene.file('dist'), { recursive: true })
    const asked = await scene.run('deploy', [])
    await expectUnchanged(asked, 'such as --location weur')
    expect(asked.output).not.toContain('Building')
    const { code, output } = await scene.run('deploy', ['--url', scene.origin, ...PLACE])
    expect(code, output).toBe(0)
    const { modules = [], assets = [] } = (await scene.control()).workers.laurel ?? {}
    expect(modules).toEqual(['index.js', 'index.js.map'])
    expect(assets).toEqual(expect.arrayContaining(['/admin.json', '/console/page', '/swagger-ui.css']))
  })
})
