/** Scripts for a deployment in a project of its own, with a wrangler that only notes its calls and answers. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import {
  databaseBlock,
  EXISTS,
  FakeProject,
  INFO,
  MOMENT,
  migrateCalls,
  SECRETS,
  TIME,
} from './fake-wrangler'

export const BUILD = 'deploy --minify --dry-run --outdir dist'
export const MIGRATE = migrateCalls()
export const DEPLOY = 'deploy --minify'
/** The calls of a deployment that succeeds. */
export const ALL = [BUILD, EXISTS, INFO, ...MIGRATE, DEPLOY, SECRETS]

/** A healthy answer of /health. */
export const OK: [status: number, body: object] = [200, { status: 'ok' }]

/** Gives each test a project as it was at first. */
export function ownProject(): FakeProject {
  const project = new FakeProject()
  beforeEach(() => project.configure((text) => text))
  afterEach(() => project.reset())
  afterAll(() => project.remove())
  return project
}

/** Binds three databases in each test. */
export function threeDatabases(project: FakeProject) {
  const names = ['laurel', 'laurel-2', 'laurel-3']
  beforeEach(() =>
    project.configure((text) => `${text}\n${databaseBlock(3, 'laurel-3')}\n${databaseBlock(2, 'laurel-2')}`),
  )
  const infos = names.map((name) => `d1 time-travel info ${name} --json`)
  return {
    names,
    infos,
    /** The calls before the migrations. */
    before: [BUILD, EXISTS, ...infos, TIME],
    /** The commands that bring all back to one moment. */
    back: names
      .map((name) => `  npx wrangler d1 time-travel restore ${name} --timestamp=${MOMENT}\n`)
      .join(''),
  }
}

/** Binds two databases in each test, for `npm run restored`. The first one is at `NOON`, and has users. */
export function restoredDatabases(project: FakeProject) {
  const NOON = Date.UTC(2026, 10, 22, 12)
  const state = (moment: number | null, hasUsers = 1) => [{ epoch: 4, version: 9, moment, hasUsers }]
  beforeEach(() => project.configure((text) => `${text}\n${databaseBlock(2, 'laurel-2')}`))
  return {
    NOON,
    state,
    /** Sets the state of the second database, and where the directory says that the users are. */
    answer: (second: object[], places = '[[0,"DB"],[2048,"DB_2"]]') => {
      const first = { state: state(NOON), exists: [{ 1: 1 }], directory: [{ places, progress: null }] }
      writeFileSync(project.file('rows'), JSON.stringify({ laurel: first, 'laurel-2': { state: second } }))
    },
    /** The calls that tell a database of the restore. */
    tells: () => project.calls().filter((call) => call.includes('UPDATE')),
  }
}

/** Gives each test of a file a project, and a server that answers /health. */
export function deployments() {
  const project = ownProject()
  const none: string[][] = []
  const scene = {
    project,
    /** The address of the server. */
    url: '',
    /** The answers of /health: the last one stays. */
    answers: [OK],
    /** The calls of wrangler before each question for /health. */
    asked: none,
    file: (...path: string[]) => project.file(...path),
    calls: () => project.calls(),
    deploy: (...args: string[]) => project.run('deploy', ...args),
  }
  const server = createServer((request, response) => {
    scene.asked.push(scene.calls())
    const [status, body] = (scene.answers.length > 1 ? scene.answers.shift() : scene.answers[0]) ?? OK
    response.writeHead(request.url === '/health' ? status : 404).end(JSON.stringify(body))
  })
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    scene.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  })
  afterAll(() => server.close())
  beforeEach(() => {
    scene.answers = [OK]
    scene.asked = []
  })
  return scene
}
