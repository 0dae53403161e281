import { at, newTenant, type TestTenant } from './harness'

/** The things of a world by the paths of their lists. */
const THINGS = {
  '/metrics': [
    { key: 'words', name: 'Metric words' },
    { key: 'pages', name: 'Metric pages' },
  ],
  '/attributes': [
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'city', name: 'City', type: 'user' },
    { key: 'page', name: 'Page', type: 'event' },
  ],
  '/points': [
    { key: 'xp', name: 'XP' },
    { key: 'gems', name: 'Gems' },
  ],
} as const
type Thing = (typeof THINGS)[keyof typeof THINGS][number]['key']

/** A tenant, and the ids of its things by their keys. */
export type World = { tenant: TestTenant } & Record<Thing, string>

/**
 * A tenant with two metrics, two user attributes, an event attribute, two points systems and the user ada.
 * `without` is the path of a list that stays empty.
 */
export async function world(given: { tenant?: TestTenant; without?: string } = {}): Promise<World> {
  const { tenant = await newTenant(), without } = given
  const ids = { words: '', pages: '', plan: '', city: '', page: '', xp: '', gems: '' }
  for (const [path, items] of Object.entries(THINGS)) {
    if (path === without) continue
    const { body } = await tenant.admin('POST', path, items)
    for (const [n, { key }] of items.entries()) ids[key] = String(at(body, 'created', n, 'id'))
  }
  await tenant.app('PUT', '/users/ada', {})
  return { tenant, ...ids }
}

export { filter } from '../known'
