/*
 * Everything that Laurel stores something in, and what becomes of it: tables of D1, classes of objects, KV and queues. The export and the erasure of a
 * user (U8) and the erasure of a tenant (T3) are made from it, as far as their steps are alike; what is special there has a type from here, so that
 * it can't be left out. A test holds that everything there is stands here.
 */

/** What is held of users. */
type OfUsers = {
  /**
   * What it is found by: the user's id, which the customer has given (`id`); our own (`iid`), or the 16 bytes of that (`bytes`), in the column
   * `user_iid`; the id in the JSON of an event; or the prefixes of the user's keys.
   */
  by: 'id' | 'iid' | 'bytes' | 'event' | 'prefix'
  /**
   * What erases it: the first batch (`at once`), or a stage of what comes after that. `last`: it goes with the last stage. None, if it goes by
   * itself.
   */
  erased: readonly ('at once' | 'rows' | 'keys' | 'boards' | 'deliveryQueues' | 'last')[]
  /** In which fields of the export of a user it is, or why it is in none. */
  exported: readonly string[] | { not: string }
}

/** That nothing is held of a user, and why it is there all the same. */
type OfNobody = { nothing: string }

/** In which stages of the erasure of a tenant it goes; none, if it has nothing of a tenant. */
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
  /** The columns of the primary key. */
  key: readonly string[]
  /** A row may have a megabyte or two: fewer of them go at once. */
  isLong?: true
  /** Statements of its own remove it with its tenant, for this reason. Otherwise the stage treats it like its others. */
  apart?: string
}

/** A table that says how a tenant is served, with a row for each resource, also a deleted one. */
const CONFIGURATION = {
  key: ['no'],
  users: { nothing: 'configuration' },
  purged: ['configuration'],
} as const satisfies Table

/**
 * The tables of D1. In the stage `configuration` they are emptied in this order, what others refer to last. A place in that order is stored while a
 * tenant is being erased.
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
      ],
    },
    purged: ['users'],
    apart: 'a user goes after all rows that are found by it',
  },
  events: {
    key: ['user_iid', 'metric_no', 'at', 'seq'],
    users: { by: 'bytes', erased: ['rows'], exported: ['events'] },
    purged: ['erasures', 'users'],
  },
  awards: {
    key: ['user_iid', 'system_no', 'at', 'seq', 'position'],
    users: { by: 'bytes', erased: ['rows'], exported: ['awards'] },
    purged: ['erasures', 'users'],
  },
  idempotency_keys: {
    key: ['user_iid', 'metric_no', 'key'],
    users: { by: 'bytes', erased: ['rows'], exported: ['idempotencyKeys'] },
    purged: ['erasures', 'users'],
  },
  day_sums: {
    key: ['user_iid', 'log', 'no'],
    users: {
      by: 'bytes',
      erased: ['rows'],
      exported: { not: 'sums of events and awards, which are exported themselves' },
    },
    purged: ['erasures', 'users'],
  },
  streak_runs: {
    key: ['user_iid', 'first'],
    users: { by: 'iid', erased: ['rows'], exported: ['streak'] },
    purged: ['erasures', 'users'],
  },
  streak_pauses: {
    key: ['id'],
    users: { by: 'iid', erased: ['rows'], exported: ['streak'] },
    purged: ['erasures', 'users'],
  },
  points_notifications: {
    key: ['user_iid', 'system_id'],
    users: {
      by: 'iid',
      erased: ['at once', 'rows'],
      exported: { not: 'up to where webhooks were told of points, which are exported themselves' },
    },
    purged: ['erasures', 'users'],
  },
  api_keys: {
    key: ['no'],
    users: { by: 'id', erased: ['at once'], exported: ['applicationKeys'] },
    purged: ['keys'],
    apart: 'their records in KV go with them',
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
      exported: { not: 'on its way for seconds to where deliveries and notifications are exported from' },
    },
    purged: ['rows'],
  },
  pending_notifications: {
    key: ['tenant_id', 'due_at', 'id'],
    users: {
      by: 'iid',
      erased: ['at once'],
      exported: { not: 'when a user is to be told of an achievement, which is exported itself' },
    },
    purged: ['rows'],
  },
  due_work: {
    key: ['tenant_id', 'kind', 'subject'],
    users: {
      by: 'id',
      erased: ['last'],
      exported: { not: 'only the erasure of a user names one for longer than a step' },
    },
    purged: ['erasures', 'rows', 'tenant'],
    apart: 'it has the erasure itself, and is known to the jobs alone',
  },
  event_batches: {
    key: ['tenant_id', 'id'],
    users: { nothing: 'how many events of a batch were processed' },
    purged: ['rows'],
  },
  tenant_counters: {
    key: ['tenant_id', 'name'],
    users: {
      nothing:
        'how many users there are, and how many have completed an achievement: one who is erased is taken off',
    },
    purged: ['rows'],
  },
  change_distributions: {
    key: ['tenant_id', 'period', 'subject'],
    isLong: true,
    users: { nothing: 'how the changes of all users are spread' },
    purged: ['rows'],
  },
  points_summaries: {
    key: ['tenant_id', 'system_id', 'kind', 'filter'],
    isLong: true,
    users: { nothing: 'how the points of all users are spread' },
    purged: ['rows'],
  },
  trigger_versions: {
    key: ['trigger_id', 'version'],
    users: { nothing: 'configuration' },
    purged: ['configuration'],
    apart: 'they are found by their triggers alone, and go before those',
  },
  points_triggers: CONFIGURATION,
  points_levels: CONFIGURATION,
  points_boosts: {
    key: ['no'],
    users: { by: 'iid', erased: ['rows'], exported: ['boosts'] },
    // Users' own, and those for all.
    purged: ['erasures', 'users', 'configuration'],
  },
  points_systems: CONFIGURATION,
  achievements: CONFIGURATION,
  leaderboards: CONFIGURATION,
  webhooks: CONFIGURATION,
  notification_templates: CONFIGURATION,
  metrics: CONFIGURATION,
  attributes: CONFIGURATION,
  tenants: {
    key: ['id'],
    users: { nothing: 'the tenant itself, with its settings' },
    purged: ['tenant'],
    apart: 'it goes when nothing else is left',
  },
  test_clock: { key: ['id'], users: { nothing: 'one time, for all tenants' }, purged: [] },
} as const satisfies Record<string, Table>

/** The classes of objects. */
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
    users: { nothing: "its tenant's id; it forgets that when it finds the tenant gone" },
    purged: [],
  },
  UserLane: { users: { nothing: 'it stores nothing: commands pass through it' }, purged: [] },
} as const satisfies Record<string, Entry>

/** The namespaces of KV, by their bindings. */
export const NAMESPACES = {
  KEYS: {
    users: { by: 'prefix', erased: ['keys'], exported: ['applicationKeys'] },
    purged: ['erasures', 'keys'],
  },
} as const satisfies Record<string, Entry>

/** The queues. */
export const QUEUES = {
  'laurel-outbox': { users: { nothing: 'it names a tenant that has something to tell' }, purged: [] },
  'laurel-repairs': {
    users: {
      by: 'id',
      // A message that comes after the erasure asks to count somebody anew who is not there.
      erased: [],
      exported: { not: 'ids for as long as a leaderboard was not told of a change: minutes' },
    },
    purged: [],
  },
} as const satisfies Record<string, Entry>

type Registered = typeof TABLES & typeof OBJECTS & typeof NAMESPACES & typeof QUEUES
type UsersOf<R> = {
  [Name in keyof R]: R[Name] extends { users: infer U extends OfUsers } ? U : never
}[keyof R]

/** All fields of the export that something is in. */
export type ExportedField = Extract<UsersOf<Registered>['exported'], readonly string[]>[number]

/** What comes after the first batch of the erasure of a user: each of these at least once. */
export type ErasureStage = Exclude<UsersOf<Registered>['erased'][number], 'at once' | 'last'>

/** The stages of the erasure of a tenant. */
export type PurgeStage = Registered[keyof Registered]['purged'][number]

/** The tables that the first batch of the erasure of a user takes something out of. */
export type ErasedAtOnce = {
  [Name in keyof typeof TABLES]: (typeof TABLES)[Name] extends { users: { erased: readonly (infer Stage)[] } }
    ? 'at once' extends Stage
      ? Name
      : never
    : never
}[keyof typeof TABLES]

/** The tables that statements of their own empty when a tenant is erased. */
export type PurgedApart = {
  [Name in keyof typeof TABLES]: (typeof TABLES)[Name] extends { apart: string } ? Name : never
}[keyof typeof TABLES]

const tables: readonly (readonly [name: string, Table])[] = Object.entries(TABLES)

/** The tables whose rows of a user go in the stage `rows`, with the primary key and what they are found by. */
export const tablesOfUsers = (): { name: string; key: readonly string[]; by: OfUsers['by'] }[] =>
  tables.flatMap(([name, { key, users }]) =>
    'erased' in users && users.erased.includes('rows') ? [{ name, key, by: users.by }] : [],
  )

/** The tables that a stage of the erasure of a tenant empties like others. */
export const tablesPurgedIn = (
  stage: PurgeStage,
): { name: string; key: readonly string[]; isLong: boolean }[] =>
  tables.flatMap(([name, { key, purged, isLong = false, apart }]) =>
    purged.includes(stage) && apart === undefined ? [{ name, key, isLong }] : [],
  )
