import type { Bindings } from '../platform/env'

/** Every binding that the Worker needs: all but those that wrangler.toml may leave out, and the variables. */
type Needed = {
  [Name in keyof Bindings]-?: undefined extends Bindings[Name] ? never : Name
}[keyof Bindings]

// A record, so that the type check fails for a binding that is not listed.
const NEEDED: Readonly<Record<Needed, true>> = {
  DB: true,
  KEYS: true,
  ASSETS: true,
  APPLICATION_LIMIT: true,
  ADMIN_LIMIT: true,
  ADDRESS_LIMIT: true,
  USER_LANE: true,
  LEADERBOARD: true,
  TIMEKEEPER: true,
  DELIVERY_QUEUE: true,
  DELETIONS: true,
  REPAIRS: true,
  OUTBOX: true,
}

/** The names of the bindings that the Worker needs and that this deployment does not have. */
export const missingBindings = (env: Bindings): string[] => {
  const present = new Set(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  return Object.keys(NEEDED).filter((name) => !present.has(name))
}
