/** A real browser: Debian's chromium, or the one that CHROMIUM_PATH names. */
import { existsSync } from 'node:fs'
import { type BuildOptions, build } from 'esbuild'
import { type Browser, chromium } from 'playwright-core'
import { afterAll } from 'vitest'
// Its servers are stopped later, when no page keeps a stream open.
import './harness'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** True if the browser is installed. */
export const hasBrowser = existsSync(executablePath)

/** The words of a test that is skipped because there is no browser. */
export const NO_BROWSER = `no browser at ${executablePath} (apt-get install chromium, or set CHROMIUM_PATH)`

const browsers: Browser[] = []
afterAll(() => Promise.all(browsers.map((browser) => browser.close())))

/** Starts a browser that reaches no other machine. It is closed after the last test of the file. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
    ],
  })
  browsers.push(browser)
  return browser
}

/** Bundles a script for a page. Without other options, the exports of its module are `laurelPage` in the page. */
export async function pageScript(options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build({
    bundle: true,
    platform: 'browser',
    format: 'iife',
    target: 'es2020',
    globalName: 'laurelPage',
    write: false,
    ...options,
  })
  const [script] = outputFiles
  if (script === undefined) throw new Error('esbuild made no script')
  return script.text
}
