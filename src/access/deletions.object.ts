import { DurableObject } from 'cloudflare:workers'
import { DAY } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { Bindings } from '../platform/env'
import { migrate, type Steps } from '../platform/objects'
import { Deletion, type DeletionPlace, type Deletions } from './deleted-keys'

declare module '../platform/env' {
  interface Bindings {
    DELETIONS: DurableObjectNamespace<DeletionList>
  }
}

/** How long a deletion stays, in milliseconds: a day longer than Time Travel of D1 reaches back. */
const KEPT = 31 * DAY

/** The tables. docs/storage.md lists them. To change a table, add a step. Never change an existing step. */
const STEPS: Steps = [
  [
    'CREATE TABLE deletions (at INTEGER, name TEXT, PRIMARY KEY (at, name)) WITHOUT ROWID',
    'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
  ],
]

const ADD =
  'INSERT INTO deletions (at, name) SELECT ?1, value FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING'
const PRUNE = 'DELETE FROM deletions WHERE at < ?1'
const NEXT = 'SELECT at, name FROM deletions WHERE (at, name) > (?1, ?2) ORDER BY at, name LIMIT ?3'

/**
 * The list of the account's deletions, one object. It is not in D1, because a restore of D1 would forget the
 * deletions since the backup. It has no id that a customer chose (M3).
 */
export class DeletionList extends DurableObject<Bindings> {
  readonly #sql = this.ctx.storage.sql

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env)
    migrate(state.storage, STEPS)
  }

  /** Adds deletions. One that is added again is in the list twice, which does no harm. Removes old ones. */
  note({ deletions }: { deletions: Deletion[] }): void {
    const names = deletions.map((deletion) => JSON.stringify(deletion))
    this.#sql.exec(ADD, systemNow(), JSON.stringify(names))
    this.#sql.exec(PRUNE, systemNow() - KEPT)
  }

  page({ after, limit }: { after: DeletionPlace | null; limit: number }): Deletions {
    const { at, name } = after ?? { at: -1, name: '' }
    const rows = this.#sql.exec<{ at: number; name: string }>(NEXT, at, name, limit).toArray()
    return { deletions: rows.map((row) => Deletion.parse(JSON.parse(row.name))), last: rows.at(-1) ?? null }
  }
}
