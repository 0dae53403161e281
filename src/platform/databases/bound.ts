import { BoundedMap } from '../../lib/bounded'
import { Connection, type Cost } from '../database'
import { type Bindings, variables } from '../env'
import { type Instance, perInstance } from '../instance'
import { Databases, type WakeMover } from './databases'
import { type Directory, FIRST } from './directory'

/** Directories by tenant, at most 10,000. A database refuses a batch that was sent by an old one (B3). */
const directoriesOf = perInstance(() => new BoundedMap<string, Directory>(10_000))

const MOST_DATABASES = 100

/** The bound databases by name: `DB`, `DB_2`, `DB_3` and so on, without gaps (B1). */
export function boundDatabases(env: Bindings): { name: string; d1: D1Database }[] {
  const list = [{ name: FIRST, d1: env.DB }]
  for (let nth = 2; nth <= MOST_DATABASES; nth += 1) {
    const name = `DB_${nth}`
    const d1: unknown = Reflect.get(env, name)
    if (!isDatabase(d1)) break
    list.push({ name, d1 })
  }
  return list
}

const isDatabase = (binding: unknown): binding is D1Database =>
  typeof binding === 'object' && binding !== null && 'batch' in binding && 'prepare' in binding

/** All databases, for one request, call or alarm. Its round trips and rows are counted in `cost`. */
export function databasesOf(
  instance: Instance,
  env: Bindings,
  cost: Cost,
  wakeMover: WakeMover = () => undefined,
): Databases {
  return new Databases({
    cost,
    connections: boundDatabases(env).map(({ name, d1 }) => new Connection(name, d1, cost)),
    testClock: variables(env).TEST_CLOCK === 'on',
    directories: directoriesOf(instance),
    settle: instance.settle,
    wakeMover,
  })
}
