/** The examples of `examples/` as somebody copies them: in a folder of their own, by the commands of their README. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { inProject } from '../../../scripts/lib/project.mjs'
import { expectAccessible } from '../console/browser'
import { PATIENCE } from '../patience'
import { environment, newFolder, type Running, run, type Server, startCommand } from './harness'

export interface Example {
  folder: string
  /** Runs a command in its folder. Fails the test if the command fails. */
  run(...command: string[]): Promise<void>
  /** Starts a command, and waits until it has printed a text. */
  start(command: string[], env: Record<string, string>, text: RegExp): Promise<Running>
}

/** A new page of an app at its sign-in, in a browser context of its own, and all errors that its console shows. */
export async function openedApp(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0],
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  await page.goto(url)
  await page.getByLabel('Your name').waitFor()
  return { context, page, complaints }
}

/** Expects that axe finds nothing on a page, and that the page is not too wide. */
export async function expectGood(page: Page, name: string) {
  await expectAccessible(page, name)
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).toBe(0)
}

/** Expects that the set-up of an example, with a key among what it has made, can run again without a change. */
export async function expectSameAgain(
  { start }: Example,
  server: Server,
  { env, paths, key }: { env: Record<string, string>; paths: string[]; key: string },
) {
  const read = () =>
    Promise.all(paths.map(async (path) => (await server.ask('GET', `/admin/v1/${path}`)).body))
  const before = await read()
  expect(JSON.stringify(before)).toContain(key)
  const again = await start(['npm', 'run', 'setup'], env, /has all that the app needs/)
  await again.ended()
  expect(await read()).toEqual(before)
}

const QUIET_NPM = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }

/** Copies an example, and installs its packages by the command of its README for a clone. */
export async function installedExample(name: string): Promise<Example> {
  const folder = newFolder(`laurel-${name}`)
  const source = inProject('examples', name)
  // What a developer has installed or built there is no part of the example.
  const isMade = /[\\/](node_modules|dist|\.next|\.wrangler|\.env\.local|next-env\.d\.ts)$/
  cpSync(source, folder, { recursive: true, filter: (path) => !isMade.test(path.slice(source.length)) })
  const [command = 'false'] =
    /^npm install --no-save .+$/m.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? []
  const example: Example = {
    folder,
    run: async (...command) => {
      const { code, said } = await run(folder, command, environment(QUIET_NPM))
      expect(code, said).toBe(0)
    },
    start: async (command, env, text) => {
      // A group of its own, since npm starts further processes.
      const app = startCommand(command, { cwd: folder, env: environment(env), ownGroup: true })
      await app.printed(text)
      return app
    },
  }
  await example.run('sh', '-c', command.replaceAll('../../', `${inProject()}/`))
  return example
}
