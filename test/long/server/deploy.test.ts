/** `npm run deploy`: what it says after each failure, and each option. test/server/deploy.test.ts has the usual way. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  ALL,
  BUILD,
  DEPLOY,
  deployments,
  MIGRATE,
  OK,
  threeDatabases,
} from '../../helpers/server/deployments'
import {
  BOOKMARK,
  databaseBlock,
  EXISTS,
  IN_USE,
  INFO,
  migrateCalls,
  PUT_SECRET,
  SECRETS,
  TIME,
} from '../../helpers/server/fake-wrangler'
import { freePort } from '../../helpers/server/harness'

const scene = deployments()
const { project, file, calls, deploy } = scene
const root = join(import.meta.dirname, '..', '..', '..')
const [LIST = '', IMPORT = ''] = MIGRATE
/** The calls of a dry run that stand for the migrations of a database. */
const missing = (name: string) => migrateCalls(name, 'EACH_THAT_IS_MISSING.sql')
const RESTORE = `npx wrangler d1 time-travel restore laurel --bookmark=${BOOKMARK}`

describe('npm run deploy', () => {
  it('sends the migrations that are missing in their order, each with its note, through the import', async () => {
    const all = readdirSync(join(root, 'migrations'))
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
    writeFileSync(file('rows'), JSON.stringify({ laurel: { applied: [] } }))
    const { code, output } = await deploy('--url', scene.url)
    const imports = all.flatMap((name) => migrateCalls('laurel', name).slice(1))
    expect([code, calls()], output).toEqual([0, [BUILD, EXISTS, INFO, LIST, ...imports, DEPLOY, SECRETS]])
    for (const name of all)
      expect(project.sent(name)).toBe(
        `${readFileSync(join(root, 'migrations', name), 'utf8').trimEnd()}\nINSERT INTO d1_migrations (name) VALUES ('${name}');\n`,
      )
    project.reset()
    writeFileSync(file('rows'), JSON.stringify({ laurel: { applied: all.map((name) => ({ name })) } }))
    expect(await deploy('--url', scene.url)).toMatchObject({ code: 0 })
    expect(calls()).toEqual([BUILD, EXISTS, INFO, LIST, DEPLOY, SECRETS])
  })

  it.each([
    [BUILD, [BUILD], 'The build failed. Nothing was changed.', false],
    [
      EXISTS,
      [BUILD, EXISTS],
      'laurel could not be asked which databases hold users. Nothing was changed. Check `npx wrangler whoami`',
      false,
    ],
    [
      INFO,
      [BUILD, EXISTS, INFO],
      'bookmark of laurel could not be read. Nothing was changed. Check `npx wrangler whoami`, and that this D1',
      false,
    ],
    [
      LIST,
      [BUILD, EXISTS, INFO, LIST],
      'The migrations of laurel failed. The Worker was not deployed.',
      true,
    ],
    [
      IMPORT,
      [BUILD, EXISTS, INFO, ...MIGRATE],
      'The migrations of laurel failed. The Worker was not deployed.',
      true,
    ],
    [DEPLOY, ALL.slice(0, -1), 'The deployment failed. The migrations are already', true],
  ])('stops if `wrangler %s` fails, and says what to do', async (step, done, reason, isChanged) => {
    writeFileSync(file('fail'), step)
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()], output).toEqual([1, done])
    expect(scene.asked).toEqual([])
    expect(output).toContain('wrangler says no')
    expect(output).toContain(reason)
    expect(output.includes(RESTORE)).toBe(isChanged)
    expect(/check out the version before.*\n {2}npm run restored\n/.test(output)).toBe(isChanged)
    expect(output).not.toContain('Laurel is deployed')
  })

  describe('with three databases', () => {
    const { names, infos, before, back } = threeDatabases(project)

    it('[M1] says the same if it is not healthy', async () => {
      scene.answers = [[503, { error: 'away' }]]
      const { code, output } = await deploy('--url', scene.url, '--wait', '0')
      expect(code).toBe(1)
      expect(output).toMatch(new RegExp(`npx wrangler rollback\\n[^]*${back}Then check out`))
      expect(output).toContain('A version from before a database was added does not know the users')
    })

    it.each([
      ['an answer without a time', [{}]],
      ['another format', [{ now: '2026-11-22 10:00:00' }]],
    ])('[M1] changes nothing if the time cannot be read: %s', async (_, now) => {
      writeFileSync(file('rows'), JSON.stringify({ laurel: { now } }))
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([1, before])
      expect(output).toContain('The time of laurel could not be read. Nothing was changed.')
    })

    it('[B3] calls nothing if one between them is missing', async () => {
      project.configure((text) => `${text}\n${databaseBlock(3, 'laurel-3')}`)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([1, []])
      expect(output).toContain('the binding DB_2')
    })

    it('[B3] a dry run prints the calls for each', async () => {
      const { code, output } = await deploy('--dry-run')
      expect([code, calls()], output).toEqual([0, [BUILD]])
      const steps = [EXISTS, IN_USE, ...infos, TIME, ...names.flatMap(missing), DEPLOY]
      expect(output.replaceAll('"', '')).toContain(steps.map((step) => `  wrangler ${step}\n`).join(''))
    })
  })

  describe('[B3] a database that is in use', () => {
    const spread = [{ places: '[[0,"DB"],[2048,"DB_2"]]', progress: null }]
    const leaving = (left: object[], move: object | null = null) => [
      { places: '[[0,"DB"]]', progress: null },
      { places: null, progress: JSON.stringify({ no: 4, move, isNumbered: true, numbering: null, left }) },
    ]
    const answer = (directory: object[], exists: object[] = [{ 1: 1 }]) =>
      writeFileSync(file('rows'), JSON.stringify({ laurel: { exists, directory } }))

    it.each([
      ['holds users', spread],
      ['gets users now', leaving([], { source: 'DB', target: 'DB_2' })],
    ])('is not left out if it %s: nothing is changed', async (_, rows) => {
      answer(rows)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls(), scene.asked], output).toEqual([1, [BUILD, EXISTS, IN_USE], []])
      expect(output).toContain('DB_2 holds users, but wrangler.toml does not bind it. Nothing was changed.')
      expect(output).toMatch(
        /Put its block back in wrangler.toml, commit that.*rebalance \{"weights":\{"DB_2":0\}\}/s,
      )
      expect(output).toContain('shows 0 buckets in DB_2')
    })

    it('is not left out while rows of users who have left are deleted there', async () => {
      answer(leaving([{ name: 'DB_2', at: 1_795_341_600_000 }]))
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([1, [BUILD, EXISTS, IN_USE]])
      expect(output).toContain(
        'Rows of users who have left DB_2 are still being deleted there. Nothing was changed. Wait some minutes, and try again.',
      )
    })

    it.each([
      ['is bound', spread, [databaseBlock(2, 'laurel-2')]],
      ['has no rows any more', leaving([{ name: 'DB', at: 0 }]), []],
    ])('does not stop a deployment if it %s', async (_, rows, blocks) => {
      project.configure((text) => [text, ...blocks].join('\n'))
      answer(rows)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls().slice(0, 3)], output).toEqual([0, [BUILD, EXISTS, IN_USE]])
      expect(calls()).toContain(DEPLOY)
    })

    it('changes nothing if the first database does not say which it is', async () => {
      answer(spread)
      writeFileSync(file('fail'), IN_USE)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([1, [BUILD, EXISTS, IN_USE]])
      expect(output).toContain('laurel could not be asked which databases hold users. Nothing was changed.')
    })
  })

  it('[K6] makes no secret of tokens if wrangler.toml has one', async () => {
    writeFileSync(file('bare'), '')
    project.configure((text) => `vars = { TOKEN_SECRET = "${'x'.repeat(32)}" }\n${text}`)
    expect(await deploy('--url', scene.url)).toMatchObject({ code: 0 })
    expect(calls()).toEqual([BUILD, EXISTS, INFO, ...MIGRATE, DEPLOY])
  })

  it.each([SECRETS, PUT_SECRET])(
    '[K6] says what is missing if `wrangler %s` fails, and goes on',
    async (step) => {
      writeFileSync(file('bare'), '')
      writeFileSync(file('fail'), step)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, scene.asked.length], output).toEqual([0, 3])
      expect(output).toContain('The secret of user tokens could not be made')
      expect(output).toContain('Laurel is deployed, and healthy.')
    },
  )

  it('waits while /health is 503', async () => {
    scene.answers = [[503, { error: 'The service is starting.' }], OK, [503, { error: 'old' }], OK]
    const { code, output } = await deploy('--url', scene.url)
    expect([code, scene.asked.length], output).toEqual([0, 6])
  })

  it('names the reason of a 503 and the way back', async () => {
    scene.answers = [[503, { error: 'Missing bindings: OUTBOX.' }]]
    const { code, output } = await deploy('--url', scene.url, '--wait', '1')
    expect([code, calls()], output).toEqual([1, ALL])
    expect(scene.asked).not.toEqual([])
    expect(output).toContain('503 {"error":"Missing bindings: OUTBOX."}')
    expect(output).toContain('npx wrangler rollback')
    expect(output).toContain(RESTORE)
    expect(output).not.toContain('healthy.')
  })

  it('calls nothing while wrangler.toml lacks something that the Worker needs, and names all of it', async () => {
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
    project.configure((text) => {
      for (const [, part] of parts) expect(text).toMatch(part)
      return parts.reduce((rest, [, part]) => rest.replace(part, ''), text)
    })
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()], output).toEqual([1, []])
    expect(output).toContain(`wrangler.toml lacks:\n${parts.map(([lack]) => `  ${lack}\n`).join('')}Add`)
  })

  it('does not take the 200 of another site for health', async () => {
    scene.answers = [[200, { parked: true }]]
    expect(await deploy('--url', scene.url, '--wait', '0')).toMatchObject({
      code: 1,
      output: expect.stringContaining('200 {"parked":true}'),
    })
  })

  it('names the reason and the way back if nothing answers', async () => {
    const { code, output } = await deploy('--url', `http://127.0.0.1:${await freePort()}`, '--wait', '0')
    expect(code).toBe(1)
    expect(output).toMatch(/is not healthy after 0 seconds.*fetch failed: connect ECONNREFUSED/s)
    expect(output).toContain(RESTORE)
  })

  it('deploys without an address, says that /health was not asked, and adds the bookmark to the log', async () => {
    mkdirSync(file('.wrangler'))
    appendFileSync(file('.wrangler', 'deployments.log'), '2026-01-01T00:00:00.000Z earlier\n')
    const { code, output } = await deploy()
    expect([code, scene.asked, calls()], output).toEqual([0, [], ALL])
    expect(output).toContain('/health was not asked')
    expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toMatch(/ earlier\n.* 00000085-/)
  })

  it('calls nothing while wrangler.toml has placeholders', async () => {
    writeFileSync(file('wrangler.toml'), readFileSync(join(root, 'wrangler.toml')))
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()]).toEqual([1, []])
    expect(output).toMatch(/still has placeholder ids.*`--location` says where the database is.*database_id/s)
  })

  it.each([
    ['route = { pattern = "laurel.example.com", custom_domain = true }', 'https://laurel.example.com'],
    ['routes = ["*.example.com/*", "b.example.com/v1/*", "c.example.com/*"]', 'https://c.example.com'],
    [
      'routes = ["*.example.com/*"]\nvars = { PUBLIC_URL = "https://p.example.com/" }',
      'https://p.example.com',
    ],
  ])('a dry run only builds, and prints the rest, with the address of %s', async (routes, address) => {
    project.configure((text) => `${routes}\n${text}`)
    const { code, output } = await deploy('--dry-run')
    expect([code, calls(), scene.asked], output).toEqual([0, [BUILD], []])
    const rest = [DEPLOY, SECRETS, `${PUT_SECRET}, if it is not in that list`]
    const steps = [EXISTS, IN_USE, INFO, ...missing('laurel'), ...rest]
    const lines = [...steps.map((step) => `wrangler ${step}`), `GET ${address}/health`]
    expect(output.replaceAll('"', '')).toContain(lines.map((line) => `  ${line}\n`).join(''))
    expect(existsSync(file('.wrangler', 'deployments.log'))).toBe(false)
  })

  it.each([
    [['--url', 'laurel.example.com'], 'begins with https://'],
    [['--wait', '2m'], '--wait must be a whole number of seconds'],
    [['--dryrun'], 'npm run deploy -- --dry-run'],
  ])('calls nothing with the options %j', async (options, reason) => {
    const { code, output } = await deploy(...options)
    expect([code, calls()]).toEqual([1, []])
    expect(output).toContain(reason)
  })
})
