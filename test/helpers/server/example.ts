/** The examples of `examples/` as somebody copies them: in a folder of their own, by the commands of their README. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { inProject } from '../../../scripts/lib/project.mjs'
import { PATIENCE } from '../patience'
import { run } from './harness'

export interface Example {
  folder: string
  /** Runs a command in its folder. Fails the test if the command fails. */
  run(...command: string[]): Promise<void>
  /** Starts a command, and waits until it has printed a text. */
  start(command: string[], env: Record<string, string>, text: RegExp): Promise<Running>
  remove(): Promise<void>
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

export interface Running {
  output(): string
  stop(): Promise<void>
}

/** Copies an example, and installs its packages by the command of its README for a clone. */
export async function installedExample(name: string): Promise<Example> {
  const folder = mkdtempSync(join(tmpdir(), `laurel-${name}-`))
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
    start: (command, env, text) => started(folder, command, env, text),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
  await example.run('sh', '-c', command.replaceAll('../../', `${inProject()}/`))
  return example
}

const QUIET_NPM = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }

/** The environment of a shell, without what this test run has added. */
const environment = (env: Record<string, string>) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(NODE_ENV|VITEST|npm_)/.test(key))),
  ...env,
})

async function started(
  folder: string,
  [program = '', ...args]: string[],
  env: Record<string, string>,
  text: RegExp,
): Promise<Running> {
  // A group of its own, since npm starts further processes.
  const child = spawn(program, args, { cwd: folder, env: environment(env), detached: true })
  const closed = once(child, 'close')
  let output = ''
  const stop = async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await closed
  }
  await new Promise<void>((resolve, reject) => {
    const end = () => reject(new Error(`It ended before it printed ${text}:\n${output}`))
    child.once('close', end)
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        output += part
        if (text.test(output)) resolve()
      })
  })
  return { output: () => output, stop }
}
