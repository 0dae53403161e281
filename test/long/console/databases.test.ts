/** The console while users move between three databases (B3), in a real browser on a real server. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, type Watched, watchAnswers } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld({ env: { DATABASES: '3' }, clock: Date.UTC(2083, 2, 1, 10) })
const { ask } = world
let watched: Watched
let page: Page
let answered: () => Promise<void>

const USERS = 40

beforeAll(async () => {
  if (!hasBrowser) return
  // Moves run in real time. The pages stay the same, because the test clock does not move.
  for (let nth = 1; nth <= USERS; nth += 1) {
    const user = { id: `user-${nth}`, name: `User ${nth}` }
    await ask('POST', '/v1/metrics/demo-lessons/event', { user, value: nth })
  }
  await ask('PUT', '/admin/v1/test-clock', { now: '2083-03-01T12:00:00.000Z' })
  watched = await world.signedIn()
  page = watched.page
  answered = watchAnswers(page)
})

type Held = { name: string; users: number; buckets: number; state: string }
const heldBy = async (): Promise<Held[]> => (await ask('GET', '/admin/v1/databases')).body

const isMoving = (databases: readonly Held[]) =>
  databases.some(({ state, buckets }) => state === 'filling' || (state === 'draining' && buckets > 0))

/** The number of users by the list of users, which fits on one page. */
const allUsers = async (): Promise<number> => (await ask('GET', '/admin/v1/users?limit=100')).body.length

const textOf = () => page.getByRole('main').innerText()

/** Opens a page, and waits until all its requests are answered and painted. */
async function openWhole(path: string): Promise<void> {
  await world.open(page, path)
  await answered()
}

const PAGES = ['/', '/users', '/users/user-7', '/leaderboards/demo-weekly-xp', '/metrics/demo-lessons']

describe.skipIf(!hasBrowser)('the console, while users move between databases', () => {
  it('[B1, B3] shows the same users, places and figures all the time', async () => {
    const before = new Map<string, string>()
    for (const path of PAGES) {
      await openWhole(path)
      before.set(path, await textOf())
    }
    expect(before.get('/leaderboards/demo-weekly-xp')).toContain('User 40')
    for (const weights of [{ DB_3: 0 }, { DB: 0 }, {}]) {
      const { status, body } = await ask('POST', '/admin/v1/databases/rebalance', { weights })
      expect([status, isMoving(body.databases)]).toEqual([202, true])
      do {
        for (const [path, text] of before) {
          await openWhole(path)
          expect([path, await textOf()]).toEqual([path, text])
        }
      } while (isMoving(await heldBy()))
    }
    expect(watched.complaints).toEqual([])
  })

  it('[B1] shows on the status page how users are spread, and which database gives its users away', async () => {
    expect((await ask('POST', '/admin/v1/databases/rebalance', { weights: { DB_2: 0 } })).status).toBe(202)
    do await world.open(page, '/status')
    while (isMoving(await heldBy()))
    await world.open(page, '/status')
    const entry = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) })
    await entry('DB_2').getByText('0 users, 0 buckets').waitFor()
    await entry('DB_2').getByText('gives its users away').waitFor()
    const [first, second, third] = await heldBy()
    expect([second?.users, (first?.users ?? 0) + (third?.users ?? 0)]).toEqual([0, await allUsers()])
    await entry('DB').getByText(`${first?.users} users`).waitFor()
    expect(watched.complaints).toEqual([])
  })
})
