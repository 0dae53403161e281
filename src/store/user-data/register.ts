import { getTableName } from 'drizzle-orm'
import { LISTS } from '../../configuration/tables.sql.ts'

/*
 * Everything in which Laurel stores data, and how it is exported and erased: tables of D1, classes of
 * objects, KV and queues. The export and the erasure of a user (U8) and the erasure of a tenant (T3) use this
 * register for all steps that are the same for several entries. The special steps use a type from here, so
 * that none can be left out. A test compares the register with the tables, classes and queues that exist.
 */

/** The data of users in an entry. */
type OfUsers = {
  /**
   * The key of a user's data. `id`: the user's id, which the customer chose. `iid`: the internal id in the
   * column `user_iid`, or `bytes`: its 16 bytes there. `event`: the id in the JSON of an event. `prefix`: the
   * prefixes of the user's keys.
   */
  by: 'id' | 'iid' | 'bytes' | 'event' | 'prefix'
  /** When an erasure erases it: in the first batch (`at once`), or later. Empty if it disappears by itself. */
  erased: readonly ('at once' | 'rows' | 'keys' | 'boards' | 'deliveryQueues' | 'last')[]
  /** The fields of a user's export that have it, or the reason why there is none. */
  exported: readonly string[] | { not: string }
}

/** An entry without data of users, with the reason or the content. */
type OfNobody = { nothing: string }

/** The stages of the erasure of a tenant that erase it. Empty if it has no data of a tenant. */
type Purged = readonly (
  | 'deliveryQueues'
  | 'boards'
  | 'erasures'
  | 'keys'
  | 'users'
  | 'rows'
  | 'configuration'
  | 'tenant'
)[]

type Entry = { users: OfUsers | OfNobody; purged: Purged }

type Table = Entry & {
  key: readonly string[]
  /** A row may have one or two megabytes, so fewer rows are deleted at once. */
  isLong?: true
  /** Why special statements delete it with its tenant. Without a reason, the stage does. */
  apart?: string
}

/** A table with rows of users, which a stage of its own deletes for a user and for a tenant. */
const rowsOfUsers = <const By extends OfUsers['by'], const Exported extends OfUsers['exported']>(
  by: By,
  key: readonly string[],
  exported: Exported,
) => ({ key, users: { by, erased: ['rows'], exported }, purged: ['erasures', 'users'] }) as const

/** A table without data of users. */
const ofNobody = <const Stages extends Purged>(nothing: string, key: readonly string[], purged: Stages) =>
  ({ key, users: { nothing }, purged }) as const

/** A table of configuration, with a row for each resource, deleted ones included. */
const CONFIGURATION = ofNobody('configuration', ['no'], ['configuration'])
const OF_LISTS = Object.fromEntries(Object.values(LISTS).map((table) => [getTableName(table), CONFIGURATION]))

/**
 * The tables of D1. The stage `configuration` deletes their rows in this order: tables to which others refer
 * are last. While a tenant is being erased, the position in this order is stored.
 */
export const TABLES = {
  users: {
    key: ['tenant_id', 'id'],
    users: {
      by: 'id',
      erased: ['at once'],
      exported: [
        'user',
        'attributes',
        'preferences',
        'metrics',
        'counters',
        'points',
        'streak',
        'achievements',
        'revokedAchievements',
      ],
    },
    purged: ['users'],
    apart: 'users are deleted last, because their rows are found through them',
  },
  events: rowsOfUsers('bytes', ['user_iid', 'metric_no', 'at', 'seq'], ['events']),
  awards: rowsOfUsers('bytes', ['user_iid', 'system_no', 'at', 'seq', 'position'], ['awards']),
  idempotency_keys: rowsOfUsers('bytes', ['user_iid', 'metric_no', 'key'], ['idempotencyKeys']),
  voided_events: rowsOfUsers('bytes', ['user_iid', 'id'], ['voidedEvents']),
  adjustment_keys: rowsOfUsers('bytes', ['user_iid', 'system_no', 'key'], ['adjustmentKeys']),
  day_sums: rowsOfUsers('bytes', ['user_iid', 'log', 'no'], {
    not: 'sums of events and awards, which are exported themselves',
  }),
  counted_users: {
    key: ['user_iid'],
    users: {
      by: 'bytes',
      erased: ['at once', 'rows'],
      exported: { not: 'up to which change the analytics count the data that is exported itself' },
    },
    purged: ['erasures', 'users'],
  },
  user_changes: rowsOfUsers('bytes', ['user_iid', 'at', 'seq', 'position'], ['changes']),
  streak_runs: rowsOfUsers('iid', ['user_iid', 'first'], ['streak']),
  streak_pauses: rowsOfUsers('iid', ['id'], ['streak']),
  devices: rowsOfUsers('iid', ['user_iid', 'token'], {
    not: 'when the device tokens came, which are exported themselves',
  }),
  points_notifications: {
    key: ['user_iid', 'system_id'],
    users: {
      by: 'iid',
      erased: ['at once', 'rows'],
      exported: { not: 'the last sent state of points, which are exported themselves' },
    },
    purged: ['erasures', 'users'],
  },
  api_keys: {
    key: ['no'],
    users: { by: 'id', erased: ['at once'], exported: ['applicationKeys'] },
    purged: ['keys'],
    apart: 'their records in KV are deleted with them',
  },
  inbox: {
    key: ['no'],
    isLong: true,
    users: { by: 'event', erased: ['at once'], exported: ['waitingEvents'] },
    purged: ['rows'],
  },
  parked_events: {
    key: ['tenant_id', 'batch_id', 'position'],
    isLong: true,
    users: { by: 'event', erased: ['at once'], exported: ['parkedEvents'] },
    purged: ['rows'],
  },
  outbox: {
    key: ['tenant_id', 'at', 'seq', 'id'],
    isLong: true,
    users: {
      by: 'iid',
      erased: ['at once'],
      exported: { not: 'moves within seconds to the delivery queues, which are exported themselves' },
    },
    purged: ['rows'],
  },
  pending_notifications: {
    key: ['tenant_id', 'due_at', 'id'],
    users: {
      by: 'iid',
      erased: ['at once'],
      exported: { not: 'when a user is notified of an achievement, which is exported itself' },
    },
    purged: ['rows'],
  },
  audit_log: {
    key: ['tenant_id', 'id'],
    users: {
      by: 'iid',
      // The entries stay, but lose their fields.
      erased: ['at once'],
      exported: { not: 'the changes that admins made, whose results are exported themselves' },
    },
    purged: ['rows'],
  },
  due_work: {
    key: ['tenant_id', 'kind', 'subject'],
    users: {
      by: 'id',
      erased: ['last'],
      exported: { not: 'users are named only until they are erased, or until their device tokens are taken' },
    },
    purged: ['erasures', 'rows', 'tenant'],
    apart: 'it contains the erasure itself, and only the jobs know it',
  },
  event_batches: ofNobody('the number of processed events of a batch', ['tenant_id', 'id'], ['rows']),
  tenant_counters: ofNobody(
    'the number of users, and of users who have completed an achievement, without erased users; and the number of erasures',
    ['tenant_id', 'name'],
    ['rows'],
  ),
  analytics_figures: ofNobody(
    'numbers about all users together',
    ['tenant_id', 'figure', 'subject_no', 'day', 'part'],
    ['rows'],
  ),
  analytics_passes: ofNobody('when all users were counted', ['tenant_id'], ['rows']),
  change_distributions: {
    key: ['tenant_id', 'period', 'subject'],
    isLong: true,
    users: { nothing: 'the distribution of the changes of all users' },
    purged: ['rows'],
  },
  points_summaries: {
    key: ['tenant_id', 'system_id', 'kind', 'filter'],
    isLong: true,
    users: { nothing: 'the distribution of the points of all users' },
    purged: ['rows'],
  },
  trigger_versions: {
    key: ['trigger_id', 'version'],
    users: { nothing: 'configuration' },
    purged: ['configuration'],
    apart: 'they are found only by their triggers, and are deleted before them',
  },
  points_triggers: CONFIGURATION,
  points_levels: CONFIGURATION,
  points_boosts: {
    key: ['no'],
    users: { by: 'iid', erased: ['rows'], exported: ['boosts'] },
    // Users' own boosts, and boosts for all users.
    purged: ['erasures', 'users', 'configuration'],
  },
  points_systems: CONFIGURATION,
  ...OF_LISTS,
  tenants: {
    key: ['id'],
    users: { nothing: 'the tenant itself, with its settings' },
    purged: ['tenant'],
    apart: 'it is deleted when nothing else is left',
  },
  directory: {
    key: ['tenant_id'],
    users: { nothing: 'which database holds which buckets of users' },
    purged: ['tenant'],
    apart: 'it is deleted with the tenant',
  },
  arriving_users: {
    key: ['tenant_id', 'user_iid'],
    users: {
      by: 'iid',
      // The mover of buckets deletes it, with the rows that were copied, once the user is gone.
      erased: ['last'],
      exported: { not: 'internal ids of users who are moving to another database, for minutes' },
    },
    purged: ['rows'],
  },
  held_databases: ofNobody('which databases hold users', ['name'], []),
  database_weights: ofNobody('weights of databases', ['name'], []),
  known_databases: ofNobody('since when databases are bound', ['name'], []),
  deleted_keys: ofNobody('prefixes of deleted keys, which belong to nobody any more', ['prefix'], []),
  schema_version: ofNobody('the version of the tables', ['id'], []),
  restores: ofNobody('when the database was last brought back', ['id'], []),
  test_clock: ofNobody('one time, for all tenants', ['id'], []),
} as const satisfies Record<string, Table>

export const OBJECTS = {
  LeaderboardObject: {
    users: { by: 'id', erased: ['boards'], exported: ['leaderboards'] },
    purged: ['boards'],
  },
  Courier: {
    users: { by: 'iid', erased: ['deliveryQueues'], exported: ['deliveries', 'notifications'] },
    purged: ['deliveryQueues'],
  },
  Timekeeper: {
    users: { nothing: "its tenant's id, which it deletes when the tenant is gone" },
    purged: [],
  },
  DeletionList: {
    users: {
      // It has internal ids of erased users and prefixes of deleted keys, for 31 days, so that a restore does
      // not bring them back.
      by: 'iid',
      erased: [],
      exported: { not: 'only internal ids of erased users, and prefixes of deleted keys' },
    },
    purged: [],
  },
  UserLane: { users: { nothing: 'it stores nothing; commands pass through it' }, purged: [] },
} as const satisfies Record<string, Entry>

/** The namespaces of KV, by their bindings. */
export const NAMESPACES = {
  KEYS: {
    users: { by: 'prefix', erased: ['keys'], exported: ['applicationKeys'] },
    purged: ['erasures', 'keys'],
  },
} as const satisfies Record<string, Entry>

export const QUEUES = {
  'laurel-outbox': { users: { nothing: 'the id of a tenant with messages in the outbox' }, purged: [] },
  'laurel-repairs': {
    users: {
      by: 'id',
      // A message after the erasure asks for a count of a user who does not exist. This does no harm.
      erased: [],
      exported: { not: 'ids, for minutes, until a leaderboard has received a change' },
    },
    purged: [],
  },
  'laurel-dead-letters': {
    users: {
      by: 'id',
      // The Worker deletes each message as soon as it arrives.
      erased: [],
      exported: { not: 'ids, for seconds, until the Worker has logged that the message failed' },
    },
    purged: [],
  },
} as const satisfies Record<string, Entry>

type Registered = typeof TABLES & typeof OBJECTS & typeof NAMESPACES & typeof QUEUES
type UsersOf<R> = {
  [Name in keyof R]: R[Name] extends { users: infer U extends OfUsers } ? U : never
}[keyof R]

/** All fields of the export. */
export type ExportedField = Extract<UsersOf<Registered>['exported'], readonly string[]>[number]

/** The stages of a user's erasure after the first batch. Each of them runs at least once. */
export type ErasureStage = Exclude<UsersOf<Registered>['erased'][number], 'at once' | 'last'>

/** The stages of the erasure of a tenant. */
export type PurgeStage = Registered[keyof Registered]['purged'][number]

/** The tables from which the first batch of a user's erasure deletes rows. */
export type ErasedAtOnce = {
  [Name in keyof typeof TABLES]: (typeof TABLES)[Name] extends { users: { erased: readonly (infer Stage)[] } }
    ? 'at once' extends Stage
      ? Name
      : never
    : never
}[keyof typeof TABLES]

/** The tables that special statements empty when a tenant is erased. */
export type PurgedApart = {
  [Name in keyof typeof TABLES]: (typeof TABLES)[Name] extends { apart: string } ? Name : never
}[keyof typeof TABLES]

const tables: readonly (readonly [name: string, Table])[] = Object.entries(TABLES)

/** The tables that the stage `rows` deletes: the primary key, and the key of the user's data. */
export const tablesOfUsers = (): { name: string; key: readonly string[]; by: OfUsers['by'] }[] =>
  tables.flatMap(([name, { key, users }]) =>
    'erased' in users && users.erased.includes('rows') ? [{ name, key, by: users.by }] : [],
  )

/** The tables that a stage of the erasure of a tenant empties without special statements. */
export const tablesPurgedIn = (
  stage: PurgeStage,
): { name: string; key: readonly string[]; isLong: boolean }[] =>
  tables.flatMap(([name, { key, purged, isLong = false, apart }]) =>
    purged.includes(stage) && apart === undefined ? [{ name, key, isLong }] : [],
  )
