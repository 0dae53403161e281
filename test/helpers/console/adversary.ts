/** A network and a server that answer writes late, wrongly, or not at all. */
import type { Page, Route } from 'playwright-core'

/** What becomes of a write: it passes, or is answered as the name says. `lost` is done, but not answered. */
export const FAULTS = {
  passes: (route) => route.continue(),
  lost: async (route) => {
    await route.fetch()
    await route.abort('connectionreset')
  },
  fails: (route) => answer(route, 500, { error: 'Something failed.' }),
  'is refused': (route) => answer(route, 422, { error: 'name: is not wanted. Choose another one.' }),
  'is refused in a 200': (route) =>
    answer(route, 200, {
      ...NOTHING,
      issues: [{ index: 0, severity: 'error', message: 'The name is not wanted. Choose another one.' }],
    }),
  'finds the session ended': (route) => answer(route, 401, { error: 'The API key is not valid.' }),
  'must wait for an hour': (route) =>
    answer(route, 429, { error: 'Too many requests. Try again later.' }, { 'retry-after': '3600' }),
} as const satisfies Record<string, (route: Route) => Promise<unknown>>

export type Fault = keyof typeof FAULTS
export const NAMES = Object.keys(FAULTS).filter((name): name is Fault => name in FAULTS)

const NOTHING = { created: [], updated: [], deleted: [] }

const answer = (route: Route, status: number, json: object, headers: Record<string, string> = {}) =>
  route.fulfill({ status, headers: { 'x-request-id': 'adversary', ...headers }, json })

/**
 * Holds all writes of a page from now on. `release` says what becomes of them, waits until the last one is
 * answered, and lets later writes pass.
 */
export async function holdWrites(page: Page, url: string) {
  const { promise: released, resolve } = Promise.withResolvers<Fault>()
  const begun = Promise.withResolvers<void>()
  const seen: string[] = []
  const answered: Promise<unknown>[] = []
  const hold = async (route: Route) => {
    const request = route.request()
    // A preview stores nothing.
    if (request.method() === 'GET' || request.url().endsWith('/preview')) return route.fallback()
    seen.push(`${request.method()} ${request.url().slice(url.length)}`)
    const answering = released.then((fault) => FAULTS[fault](route))
    answered.push(answering.catch(() => {}))
    begun.resolve()
    await answering
  }
  const writes = new RegExp(`^${url}/(?:admin/v1|api)/`)
  await page.route(writes, hold)
  return {
    /** The writes so far, such as `POST /admin/v1/metrics`. */
    seen,
    async release(fault: Fault) {
      await begun.promise
      resolve(fault)
      await Promise.all(answered)
      // A write that may be repeated is sent again after some faults. It then gets the same answer.
      if (fault === 'passes') await page.unroute(writes, hold)
      return () => page.unroute(writes, hold)
    },
  }
}

/** Loses the answer to the first deletion of a page: it is done, and sent again. Answers all deletions. */
export async function loseDeletion(page: Page, url: string): Promise<readonly string[]> {
  const sent: string[] = []
  await page.route(new RegExp(`^${url}/admin/v1/`), (route) => {
    if (route.request().method() !== 'DELETE') return route.fallback()
    return sent.push(route.request().url()) === 1 ? FAULTS.lost(route) : route.continue()
  })
  return sent
}
