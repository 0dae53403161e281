import type * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { ok } from '../../api/operation'
import { NEXT_LINK, nextLink } from '../../api/queries'
import { configurationOf } from '../../configuration/configuration'
import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { DAY, instant, iso } from '../../lib/clock'
import type { Scope } from '../../platform/context'
import type { UserState } from '../../rules/state'
import { triggerForms } from '../../store/awards.sql.ts'
import { findUser } from '../../store/users/find-user'
import { deliveryQueueOf } from '../../webhooks/delivery/queue'
import { entryOf } from '../notifications/log'
import { explain, findExplained } from './award-explanation'
import {
  AwardExplanation,
  AwardExplanationParams,
  TIMELINE_TYPES,
  Timeline,
  type TimelineEntry,
  TimelineParams,
  TimelineQuery,
  type TimelineType,
} from './explanations'
import {
  awardWindow,
  eventWindow,
  historyWindow,
  type RowPlace,
  reversalsOf,
  runWindow,
  voidedEventWindow,
  voidWindow,
} from './timeline.sql.ts'
import {
  adjustmentEntries,
  awardEntries,
  completionEntry,
  eventEntries,
  historyEntries,
  historyPlace,
  historyPosition,
  isRevoke,
  type Key,
  lossEntry,
  merged,
  NEWEST,
  NO_MOMENT,
  type Part,
  PLACES,
  voidEntries,
} from './timeline-entries'

type Entry = z.input<typeof TimelineEntry>

/** The rows of a window if only few of them have an entry of the wanted types. */
const SPARSE = 500

/** The input of a source: the user, the end of the page before, and the wanted types. */
type Wanted = {
  scope: Scope
  config: Configuration
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
): Promise<{ entries: readonly Entry[]; next: string | null }> {
  const config = await configurationOf(scope)
  const wanted = { scope, config, user, after, limit, has: (type: TimelineType) => types.includes(type) }
  const parts = await Promise.all([
    events(wanted),
    awards(wanted),
    completions(wanted),
    voidedEvents(wanted),
    voids(wanted),
    history(wanted),
    losses(wanted),
    ...NOTIFICATION_CHANNELS.map((channel) => notifications(wanted, channel)),
  ])
  const ofTypes = parts.map(({ entries, end }) => ({
    entries: entries.filter(({ entry }) => types.includes(entry.type)),
    end,
  }))
  const { entries, next } = merged(ofTypes, { after, limit })
  const query = { types: types.join(','), limit: String(limit) }
  return { entries, next: next && nextLink(scope, query, next) }
}

const NOTHING: Part<Entry> = { entries: [], end: null }

/** How many rows to read. The row at which the page before ended may be read again. */
const sizeOf = ({ limit }: Wanted, isDense: boolean) => (isDense ? limit + 2 : SPARSE)

async function events(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, config, user, after, has } = wanted
  const isAll = has('event')
  if (!isAll && !has('streak')) return NOTHING
  const from: RowPlace = [after[0], after[1], 0]
  const { rows, last } = await eventWindow(scope.db, user.iid, { from, size: sizeOf(wanted, isAll), isAll })
  return {
    entries: rows.flatMap((row) => eventEntries(config, row)),
    end: last && [last[0], last[1], PLACES.event, ''],
  }
}

async function awards(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, config, user, after, has } = wanted
  const isAll = has('award')
  if (!isAll && !has('level_changed') && !has('adjustment')) return NOTHING
  const [at, seq, place] = after
  const from: RowPlace = [at, seq, Math.floor((place - PLACES.award) / 2)]
  const { rows, last } = await awardWindow(scope.db, user.iid, { from, size: sizeOf(wanted, isAll), isAll })
  const forms = await triggerForms(scope.db, isAll ? rows : [])
  return {
    entries: rows.flatMap((row) => awardEntries(config, forms, row)),
    end: last && [last[0], last[1], PLACES.award + 2 * last[2], ''],
  }
}

async function voidedEvents(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, config, user, after, has } = wanted
  if (!has('event') && !has('streak')) return NOTHING
  const from: RowPlace = [after[0], after[1], 0]
  const size = sizeOf(wanted, has('event'))
  const { rows, last } = await voidedEventWindow(scope.db, user.iid, { from, size })
  return {
    entries: rows.flatMap((row) => eventEntries(config, row)),
    end: last && [last[0], last[1], PLACES.event, ''],
  }
}

async function voids(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, config, user, after, has } = wanted
  if (!has('void') && !has('level_changed')) return NOTHING
  const from: RowPlace = [after[0], after[1], 0]
  const size = sizeOf(wanted, has('void'))
  const { rows, last } = await voidWindow(scope.db, user.iid, { from, size })
  const reversals = await reversalsOf(
    scope.db,
    user.iid,
    rows.map(({ seq }) => seq),
  )
  return {
    entries: rows.flatMap((row) => voidEntries(config, row, reversals.get(row.seq) ?? [])),
    end: last && [last[0], last[1], PLACES.event, ''],
  }
}

async function completions({ config, user, has }: Wanted): Promise<Part<Entry>> {
  if (!has('achievement')) return NOTHING
  return { entries: [...user.achievements].map(([id, one]) => completionEntry(config, id, one)), end: null }
}

async function history(wanted: Wanted): Promise<Part<Entry>> {
  const { scope, config, user, after, has } = wanted
  const hasReversals = has('adjustment') || has('level_changed')
  if (!has('change') && !has('streak') && !hasReversals) return NOTHING
  const size = sizeOf(wanted, has('change') && has('streak'))
  const [at, seq, place] = after
  const from: RowPlace = [at, seq, historyPosition(place)]
  const { rows, last } = await historyWindow(scope.db, user.iid, { from, size })
  // The points of a completion that was taken back are reversed by the same change.
  const revokes = hasReversals ? rows.filter(isRevoke) : []
  const reversals = await reversalsOf(
    scope.db,
    user.iid,
    revokes.map(({ seq }) => seq),
  )
  return {
    entries: [
      ...rows.flatMap((row) => historyEntries(config, user.iid, row)),
      ...revokes.flatMap((row) =>
        (reversals.get(row.seq) ?? []).flatMap((one) => adjustmentEntries(config, row, one)),
      ),
    ],
    end: last && [last[0], last[1], historyPlace(last[2], 0), ''],
  }
}

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
export const explanationEndpoints = [
  endpoint(
    'GET /users/{id}/points/{key}/awards/{awardId}',
    {
      id: 'admin_users_explain_award',
      summary: 'Explain an award of points',
      params: AwardExplanationParams,
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
      params: TimelineParams,
      query: TimelineQuery,
      responses: {
        200: {
          description: 'The page, newest first.',
          body: Timeline,
          optionalHeaders: { Link: NEXT_LINK },
        },
      },
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => {
      const { entries, next } = await timeline(scope, user, query)
      return { ...ok([...entries]), ...(next !== null && { headers: { Link: next } }) }
    },
  ),
]
