/** The server with the demo and the browser that all tests of a file share. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll } from 'vitest'
import { type Server, type StartOptions, startServer } from '../server/harness'
import { SERVER_START } from '../time'
import { launchBrowser, type PageOptions, settled, signedInPage, watchedPage } from './browser'

/** A text of a user or a tenant that would run as a program if the page took it for HTML. */
export const ATTACK = '<img src=x onerror=alert(1)>'

export type World = ReturnType<typeof sharedWorld>

/** How the server starts. Its test clock begins at the same moment in all tests, unless they want real time. */
type WorldOptions = Omit<StartOptions, 'clock'> & { clock?: number | 'real' }

/** Starts a server and a browser before the tests of this file. Both end after its last test. */
export function sharedWorld({ clock = SERVER_START, ...options }: WorldOptions = {}) {
  let server: Server
  let browser: Browser
  beforeAll(async () => {
    ;[server, browser] = await Promise.all([
      startServer({ ...options, ...(clock !== 'real' && { clock }) }),
      launchBrowser(),
    ])
  })
  return {
    get server() {
      return server
    },
    get browser() {
      return browser
    },
    /** Asks the interface, with the admin key or another one. */
    ask: (method: string, path: string, body?: unknown, key = server.adminKey) =>
      server.ask(method, path, body, { 'x-api-key': key }),
    /** A page with storage of its own, not signed in. */
    page: (page?: PageOptions) => watchedPage(browser, server.url, page),
    /** A page with storage of its own, signed in with the admin key. */
    signedIn: (page?: PageOptions) => signedInPage(browser, server, page),
    /** Opens a page of the console, and waits until it is there. */
    async open(page: Page, path: string) {
      await page.goto(`${server.url}/console${path}`)
      await settled(page)
    },
  }
}
