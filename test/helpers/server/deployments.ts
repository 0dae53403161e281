/** Runs of `npm run deploy` in a project of its own, with a wrangler that only notes its calls and answers. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { EXISTS, FakeProject, INFO, migrateCalls, SECRETS } from './fake-wrangler'

export const BUILD = 'deploy --minify --dry-run --outdir dist'
export const MIGRATE = migrateCalls()
export const DEPLOY = 'deploy --minify'
/** The calls of a deployment that succeeds. */
export const ALL = [BUILD, EXISTS, INFO, ...MIGRATE, DEPLOY, SECRETS]

/** A healthy answer of /health. */
export const OK: [status: number, body: object] = [200, { status: 'ok' }]

/** Gives each test of a file a project, and a server that answers /health. */
export function deployments() {
  const project = new FakeProject()
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
  afterAll(() => {
    server.close()
    project.remove()
  })
  beforeEach(() => {
    scene.answers = [OK]
    scene.asked = []
    project.configure((text) => text)
  })
  afterEach(() => project.reset())
  return scene
}
