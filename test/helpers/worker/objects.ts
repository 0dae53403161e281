import { env } from 'cloudflare:workers'
import { lost } from './faulty'

/** A binding whose objects have these methods instead of their own. The methods may call the real object. */
export const stubbed = <T extends object>(binding: T, methods: (id: string) => object): T =>
  new Proxy(binding, {
    get: (target, name) => (name === 'getByName' ? methods : Reflect.get(target, name, target)),
  })

export const nothing = async () => undefined
/** Timekeepers that do nothing: events stay in the inbox, and a test does due work itself. */
export const ASLEEP = stubbed(env.TIMEKEEPER, () => ({ wake: nothing, purge: nothing, catchUpKind: nothing }))

export const fails = () => Promise.reject(lost())
/** Timekeepers that cannot be reached. */
export const UNREACHED = stubbed(env.TIMEKEEPER, () => ({ wake: fails, purge: fails }))
