/*
 * The limits that docs/limits.md lists: how many things there may be, how long texts may be, and how many
 * entries a page has. The limits of requests in ten seconds are in wrangler.toml.
 */

/* The configuration of a tenant (G7) */

/**
 * The most resources of one kind: metrics, points systems, achievements, leaderboards; levels, triggers and
 * boosts in all points systems together. So a configuration fits into an isolate.
 */
export const MOST_RESOURCES = 1_000
/** The most attributes. Each may be in a user's row, with 6 kB at worst, and D1 limits a row to 2 MB. */
export const MOST_ATTRIBUTES = 200
/** The most active or scheduled leaderboards. An event calls each one that it changes. */
export const MOST_RUNNING_LEADERBOARDS = 100
/** The most users on a leaderboard, or in each of its groups, which is also the default (L5). */
export const MOST_PARTICIPANTS = 1_000
/** The most breakdown attributes of a leaderboard (L6). */
export const MOST_BREAKDOWN_ATTRIBUTES = 10
/** The most filters by attributes of a resource. */
export const MOST_FILTERS = 20
/** The most levels, triggers or boosts in the item that creates a points system. */
export const MOST_NESTED_ITEMS = 100
/** The most years after which an anniversary is (A7). */
export const MOST_ANNIVERSARY_YEARS = 100
/** The most achievements that another one requires (A3). */
export const MOST_PREREQUISITES = 100
/** The most metrics in a list of metrics that count for streaks (S1, U7). */
export const MOST_STREAK_METRICS = 100
/** The most days of the week that are off, so that one always counts (S12). */
export const MOST_DAYS_OFF = 6
/** The most freezes of a user that a tenant can allow, and that users can start with or earn at once (S1). */
export const MOST_FREEZES = 100
/** The most days between two earned freezes (S1). */
export const MOST_FREEZE_INTERVAL_DAYS = 3_650
/** The most webhooks. A change makes one delivery for each webhook that listens to it. */
export const MOST_WEBHOOKS = 20
/** After how many days a tenant can count who came back (T4): at least, and at most. */
export const LEAST_ACTIVATION_DAYS = 3
export const MOST_ACTIVATION_DAYS = 30
/** The most notification templates. */
export const MOST_TEMPLATES = 100

/* A user */

/** The most device tokens of a user, and the most characters of each (G7). */
export const MOST_DEVICE_TOKENS = 25
export const MOST_DEVICE_TOKEN_CHARACTERS = 2_048
/** The most own boosts of a user that are not over. All of them are read with the user. */
export const MOST_OWN_BOOSTS = 100
/** The most pauses of a user that are not over. All of them are in the user's row. */
export const MOST_PAUSES = 100
/** The earliest date on which a user may have signed up (U9). */
export const FIRST_SIGN_UP_DATE = '1900-01-01'
/** How many days from today a pause may end at most. */
export const MOST_PAUSE_DAYS = 3_650

/* Texts, in characters */

/** Ids of users, keys of resources, idempotency keys, tenants' customer ids. */
export const MOST_ID_CHARACTERS = 255
/** The name of a tenant's app, and the colour of its brand (T4). */
export const MOST_APP_NAME_CHARACTERS = 100
export const MOST_COLOR_CHARACTERS = 50
/** Names of users and resources. */
export const MOST_NAME_CHARACTERS = 255
export const MOST_DESCRIPTION_CHARACTERS = 2_000
/** URLs of badges and webhooks. For webhooks: as it was given, and as it is called. */
export const MOST_URL_CHARACTERS = 2_048
export const MOST_EMAIL_CHARACTERS = 320
/** The value of an attribute (U1). */
export const MOST_ATTRIBUTE_CHARACTERS = 1_000
/** The reason of a correction (V). */
export const MOST_REASON_CHARACTERS = 1_000
/** The text that users are searched for. */
export const MOST_SEARCH_CHARACTERS = 255
/** The subject of an email template, and the title of a push template. */
export const MOST_TITLE_CHARACTERS = 1_000
/** The body of a template. */
export const MOST_TEMPLATE_CHARACTERS = 65_536
/** A rendered email. */
export const MOST_RENDERED_CHARACTERS = 262_144

/* Numbers */

/** The limit of an event's value, above and below zero (E1). */
export const MOST_EVENT_VALUE = 1_000_000_000
/** The limit of a metric's total, above and below zero (E1). */
export const MOST_METRIC_TOTAL = 9_007_199_254
/** The largest threshold of a metric for streaks. */
export const MOST_THRESHOLD = 1_000_000_000
/** The limit of a trigger's points, above and below zero. */
export const MOST_TRIGGER_POINTS = 1_000_000
/** The limit of the points of an adjustment, above and below zero (V1). */
export const MOST_ADJUSTMENT_POINTS = 1_000_000

/* Requests */

/** One mebibyte, in bytes. */
export const MIB = 1_048_576
/** The largest body of a request, and of a batch of events, in bytes (G2). */
export const MOST_BODY_BYTES = MIB
export const MOST_BATCH_BYTES = 4 * MIB
/** The most events in a batch (E9). */
export const MOST_BATCH_EVENTS = 1_000
/** The most items of an admin write, and the most ids of a deletion (G7). */
export const MOST_ITEMS = 100
export const MOST_IDS = 100
/** The most users whose streaks one request reads (S6). */
export const MOST_STREAK_USERS = 100
/** The most days from the first to the last date of a summary (P12). */
export const MOST_SUMMARY_DAYS = 400
/** The most days by which one call moves the test clock (C1). */
export const MOST_CLOCK_DAYS = 400

/* Pages */

/** The days of a user's history in a run that are kept, which a request can ask for (L10). */
export const MOST_RANK_HISTORY = 100
/** The most users of a ranking of streaks (S6). */
export const MOST_RANKED_STREAKS = 100

/** A page of a ranking if the request names no size (L9). The largest has all participants. */
export const RANKING_PAGE = 10

/** The largest page of each list, and the size of a page if the request names none. */
export const PAGES = {
  /** Lists of the admin interface, the logs of messages too (G7). */
  admin: { max: 100, fallback: 10 },
  awards: { max: 100, fallback: 10 },
  /** Periods in a streak's history (S6). */
  streakHistory: { max: 366, fallback: 7 },
  streakRankings: { max: MOST_RANKED_STREAKS, fallback: 10 },
  /** A leaderboard's groups (L6). */
  groups: { max: 100, fallback: 10 },
  /** Places in the visible part of a live leaderboard (Y1). */
  live: { max: 100, fallback: 10 },
  /** Changes of a user's place on a leaderboard (L10). */
  rankHistory: { max: MOST_RANK_HISTORY, fallback: 10 },
} as const

/* Live leaderboards (Y) */

/** The most open streams of a leaderboard. A change is sent to all of them by one object, in one thread. */
export const MOST_WATCHERS = 5_000
/** The same of one application key, or of all user tokens of a user: on a leaderboard, and in an isolate. */
export const MOST_STREAMS_OF_KEY = 20
/** The same of a tenant, for all leaderboards in an isolate. */
export const MOST_STREAMS_OF_TENANT = 5_000
/** The most visible parts of a leaderboard watched at once, each computed at most once a second. */
export const MOST_VIEWS = 1_000
/** The same for parts that mix groups: each reads all scores of a run. */
export const MOST_MIXED_VIEWS = 20

/** The most characters of a stream's group as JSON, with 4 bytes at worst, in its note of at most 16,384. */
export const MOST_GROUP_CHARACTERS = 3_500

/* Logs of webhooks and notifications (W4, N4) */

/** How many days an entry is kept, unless the variable DELIVERY_LOG_DAYS says another number. */
export const LOG_DAYS = 30
/** The most entries of each webhook and channel. */
export const MOST_LOGGED = 20_000

/* The audit log (Z1) */

/** How many days an entry is kept. */
export const AUDIT_LOG_DAYS = 365
