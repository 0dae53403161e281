import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { IdOrKey, UserId, Uuid } from '../../api/fields'
import { cursorQuery, integerQuery, longPage, pageResponse } from '../../api/queries'
import { configurationOf } from '../../configuration/configuration'
import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { DAY, instant, iso } from '../../lib/clock'
import { PAGES } from '../../lib/limits'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import type { UserState } from '../../rules/state'
import { triggerForms } from '../../store/awards.sql.ts'
import { findUser } from '../../store/users/users.sql.ts'
import { deliveryQueueOf } from '../../webhooks/delivery/queue'
import { entryOf } from '../notifications/notifications.routes'
import { AwardExplanation, explain, findExplained } from './award-explanation'
import {
  type AskedWindow,
  awardWindow,
  eventWindow,
  historyWindow,
  reversalsOf,
  runWindow,
  voidedEventWindow,
  voidWindow,
  type Window,
} from './timeline.sql.ts'
import {
  adjustmentEntries,
  awardEntries,
  completionEntry,
  type Entry,
  eventEntries,
  historyEntries,
  historyPlace,
  historyPosition,
  isRevoke,
  type Key,
  type Keyed,
  lossEntry,
  merged,
  NEWEST,
  NO_MOMENT,
  type Part,
  PLACES,
  TIMELINE_TYPES,
  Timeline,
  type TimelineType,
  voidEntries,
} from './timeline-entries'

/** The place of the last entry of a page: see `Key`. */
const TimelineCursor = z.tuple([z.int(), z.int(), z.int(), z.string()]).readonly()

const isType = (text: string): text is TimelineType => TIMELINE_TYPES.some((type) => type === text)

const Types = z.string('must be given once').transform((text, context): readonly TimelineType[] => {
  const types = text.split(',').map((one) => one.trim())
  if (types.every(isType)) return types
  context.addIssue(`must be a list of these, separated by commas: ${TIMELINE_TYPES.join(', ')}`)
  return z.NEVER
})

const TimelineQuery = z.object({
  types: Types.optional(),
  limit: integerQuery({ min: 1, ...PAGES.admin }),
  after: cursorQuery(TimelineCursor).optional(),
})

/** The rows of a window if only few of them have an entry of the wanted types. */
const SPARSE = 500

/** The input of a source: the user, the end of the page before, and the wanted types. */
type Wanted = {
  scope: Scope
  user: UserState
  after: Key
  limit: number
  has: (type: TimelineType) => boolean
}

/**
 * A page of a user's timeline, newest first (X2), and the link to the next page. A page may be shorter than
 * `limit` although there are more: rows without entries of the wanted types were read.
 */
async function timeline(
  scope: Scope,
  user: UserState,
  { types = TIMELINE_TYPES, limit, after = NEWEST }: z.output<typeof TimelineQuery>,
) {
  const config = await configurationOf(scope)
  const wanted: Wanted = { scope, user, after, limit, has: (type) => types.includes(type) }
  const parts = await Promise.all([
    events(wanted, config, eventWindow),
    events(wanted, config, voidedEventWindow),
    awards(wanted, config),
    completions(wanted, config),
    voids(wanted, config),
    history(wanted, config),
    losses(wanted),
    ...NOTIFICATION_CHANNELS.map((channel) => notifications(wanted, channel)),
  ])
  const ofTypes = parts.map(({ entries, end }) => ({
    entries: entries.filter(({ entry }) => types.includes(entry.type)),
    end,
  }))
  const { entries, next } = merged(ofTypes, { after, limit })
  return longPage(scope, { types, limit }, { items: [...entries], next })
}

const NOTHING: Part<Entry> = { entries: [], end: null }

type Source<R> = {
  /** If all of these are wanted, each row has an entry. If not, many rows are read, since few may have one. */
  always: readonly TimelineType[]
  /** The other types of its entries. */
  sometimes: readonly TimelineType[]
  read: (db: TenantDatabase, iid: string, asked: AskedWindow) => Promise<Window<R>>
  /** The position in its change of the last row with entries before a place, and the place of a position. */
  positionAt: (place: number) => number
  placeOf: (position: number) => number
  entriesOf: (rows: R[], isAll: boolean) => Keyed<Entry>[] | Promise<Keyed<Entry>[]>
}

async function partOf<R>(
  { scope, user, after, limit, has }: Wanted,
  source: Source<R>,
): Promise<Part<Entry>> {
  const { always, sometimes, positionAt, placeOf } = source
  if (![...always, ...sometimes].some(has)) return NOTHING
  const [at, seq, place] = after
  const isAll = always.every(has)
  // The row at which the page before ended may be read again.
  const asked = { from: [at, seq, positionAt(place)], size: isAll ? limit + 2 : SPARSE, isAll } as const
  const { rows, last } = await source.read(scope.db, user.iid, asked)
  const entries = await source.entriesOf(rows, isAll)
  return { entries, end: last && [last[0], last[1], placeOf(last[2]), ''] }
}

const ofEvent = { positionAt: () => 0, placeOf: () => PLACES.event }

const events = (wanted: Wanted, config: Configuration, read: typeof eventWindow) =>
  partOf(wanted, {
    always: ['event'],
    sometimes: ['streak'],
    ...ofEvent,
    read,
    entriesOf: (rows) => rows.flatMap((row) => eventEntries(config, row)),
  })

const awards = (wanted: Wanted, config: Configuration) =>
  partOf(wanted, {
    always: ['award'],
    sometimes: ['level_changed', 'adjustment'],
    positionAt: (place) => Math.floor((place - PLACES.award) / 2),
    placeOf: (position) => PLACES.award + 2 * position,
    read: awardWindow,
    entriesOf: async (rows, isAll) => {
      const forms = await triggerForms(wanted.scope.db, isAll ? rows : [])
      return rows.flatMap((row) => awardEntries(config, forms, row))
    },
  })

const voids = (wanted: Wanted, config: Configuration) =>
  partOf(wanted, {
    always: ['void'],
    sometimes: ['level_changed'],
    ...ofEvent,
    read: voidWindow,
    entriesOf: async (rows) => {
      const reversals = await reversalsOf(wanted.scope.db, wanted.user.iid, rows)
      return rows.flatMap((row) => voidEntries(config, row, reversals.get(row.seq) ?? []))
    },
  })

async function completions({ user, has }: Wanted, config: Configuration): Promise<Part<Entry>> {
  if (!has('achievement')) return NOTHING
  return { entries: [...user.achievements].map(([id, one]) => completionEntry(config, id, one)), end: null }
}

const history = (wanted: Wanted, config: Configuration) =>
  partOf(wanted, {
    always: ['change', 'streak'],
    sometimes: ['adjustment', 'level_changed'],
    positionAt: historyPosition,
    placeOf: (position) => historyPlace(position, 0),
    read: historyWindow,
    entriesOf: async (rows) => {
      const { scope, user, has } = wanted
      // The points of a completion that was taken back are reversed by the same change.
      const revokes = has('adjustment') || has('level_changed') ? rows.filter(isRevoke) : []
      const reversals = await reversalsOf(scope.db, user.iid, revokes)
      return [
        ...rows.flatMap((row) => historyEntries(config, user.iid, row)),
        ...revokes.flatMap((row) =>
          (reversals.get(row.seq) ?? []).flatMap((one) => adjustmentEntries(config, row, one)),
        ),
      ]
    },
  })

/** The number of runs that may have begun around the moment at which an earlier one was lost. */
const AROUND = 10

/** Lost streaks. Losses with an unknown moment are the last entries of the timeline. */
async function losses(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, user, after, has, limit } = wanted
  if (!has('streak')) return NOTHING
  const { db } = scope
  const known = async (): Promise<Part<Entry>> => {
    const size = limit + AROUND
    const day = Math.floor(after[0] / DAY) + 2
    const runs = await runWindow(db, user.iid, { day, size })
    const first = runs.at(-1)?.first
    return {
      entries: runs.filter(({ lost }) => lost !== null).map((run) => lossEntry(user.iid, run)),
      // Earlier streaks were lost before this one began, or by the event with which it began.
      end: runs.length === size && first !== undefined ? [(first + 2) * DAY, 0, 0, ''] : null,
    }
  }
  const found = after[0] === NO_MOMENT ? NOTHING : await known()
  if (found.end !== null) return found
  const day = after[0] === NO_MOMENT ? after[1] : Number.MAX_SAFE_INTEGER
  const runs = await runWindow(db, user.iid, { day, size: SPARSE })
  const first = runs.at(-1)?.first
  return {
    entries: [
      ...found.entries,
      ...runs.filter(({ lost }) => lost === null).map((run) => lossEntry(user.iid, run)),
    ],
    end: runs.length === SPARSE && first !== undefined ? [NO_MOMENT, first, 0, ''] : null,
  }
}

/** The notifications of a channel, as long as its log has them (N4). */
async function notifications(
  { scope, user: { iid }, after, limit, has }: Wanted,
  channel: (typeof NOTIFICATION_CHANNELS)[number],
): Promise<Part<Entry>> {
  if (!has('notification')) return NOTHING
  const [at, seq, place, id] = after
  const isAmong = place === PLACES.other
  // Ids of this place are not after the end of the alphabet.
  const before = { at, seq, id: isAmong ? id : place > PLACES.other ? '~' : '' }
  const queue = deliveryQueueOf(scope, { kind: channel, tenantId: scope.tenant.id })
  const { messages, hasMore } = await queue.newest({ iid, before, limit: limit + 1 })
  const last = messages.at(-1)
  return {
    entries: messages.map((message) => {
      const { type, status, title } = entryOf(message)
      const { place } = message
      return {
        key: [place.at, place.seq, PLACES.other, message.id],
        entry: {
          ...{ id: message.id, at: iso(instant(place.at)), type: 'notification' },
          ...{ channel, notification: type, status, title },
        },
      }
    }),
    end:
      last !== undefined && (hasMore || messages.length > limit)
        ? [last.place.at, last.place.seq, PLACES.other, last.id]
        : null,
  }
}

const endpoint = endpointsOf('admin')

/** The endpoints of explanations for support (X). */
export const supportEndpoints = [
  endpoint(
    'GET /users/{id}/points/{key}/awards/{awardId}',
    {
      id: 'admin_users_explain_award',
      summary: 'Explain an award of points',
      params: z.object({ id: UserId, key: IdOrKey, awardId: Uuid }),
      responses: { 200: { description: 'The award, and why it was made.', body: AwardExplanation } },
    },
    {
      find: (scope, param) =>
        findExplained(scope, { id: param('id'), key: param('key'), awardId: param('awardId') }),
    },
    async (scope, _input, found) => ok(await explain(scope, found)),
  ),
  endpoint(
    'GET /users/{id}/timeline',
    {
      id: 'admin_users_timeline',
      summary: 'List everything that happened to a user, newest first',
      params: z.object({ id: UserId }),
      query: TimelineQuery,
      responses: { 200: pageResponse('The page, newest first.', Timeline) },
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    (scope, { query }, user) => timeline(scope, user, query),
  ),
]
