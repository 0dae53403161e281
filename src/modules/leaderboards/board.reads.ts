import type { z } from 'zod'
import type { Board } from './board'
import {
  groupOf,
  type PageReply,
  type PageRequest,
  type PlaceReply,
  type PlaceRequest,
} from './board.messages'

type Page = z.output<typeof PageReply>
type Place = z.output<typeof PlaceReply>

/** A page of the ranking of one run: of one group, or of all groups that match together (L6, L9). */
export function readPage(
  board: Board,
  request: Pick<z.output<typeof PageRequest>, 'run' | 'group' | 'offset' | 'limit' | 'userId'>,
): Page {
  const { offset, limit, userId } = request
  const ranked = board.isFinal(request.run) ? finals(board, request) : live(board, request)
  const place = userId === null ? 0 : ranked.findIndex((one) => one.userId === userId)
  if (place < 0) return []
  const first = place + offset
  return ranked.slice(first, first + limit).map((one, index) => ({
    userId: one.userId,
    iid: one.iid,
    rank: one.rank ?? first + index + 1,
    value: board.served(one.score),
  }))
}

/** Someone who is ranked; without a rank where that is the place in the list. */
type Ranked = { userId: string; iid: string; score: number; rank?: number }
type Asked = Pick<z.output<typeof PageRequest>, 'run' | 'group'>

function live(board: Board, { run, group }: Asked): readonly Ranked[] {
  const whole = groupOf(group)
  return whole === null
    ? board.store.bestMatching(run, group, board.definition.maxParticipants)
    : board.rankings.of(run, whole).entries
}

/** A final ranking. An erased user's place stays empty, so that the others keep theirs (U8). */
function finals({ store }: Board, { run, group }: Asked): Ranked[] {
  const whole = groupOf(group)
  const entries =
    whole === null ? store.finalsMatching(run, group, store.maxOf(run)) : store.finalGroup(run, whole)
  return entries.flatMap(({ userId, iid, score }, index) =>
    userId === null || iid === null ? [] : [{ userId, iid, score, rank: index + 1 }],
  )
}

/** A user's place in one run, and the last days on which it had changed (L10). */
export function readPlace(
  board: Board,
  {
    run,
    userId,
    iid,
    numEvents,
  }: Pick<z.output<typeof PlaceRequest>, 'run' | 'userId' | 'iid' | 'numEvents'>,
): Place {
  const { store, progress } = board
  const value = (score: number | null) => (score === null ? null : board.served(score))
  const past = store.history(run, iid, numEvents).map(({ score, previousScore, ...rest }) => ({
    ...rest,
    value: value(score),
    previousValue: value(previousScore),
  }))
  if (board.isFinal(run)) {
    const end = store.finalOf(run, iid)
    return { rank: end?.rank ?? null, value: value(end?.score ?? null), history: past.reverse() }
  }
  const row = store.ofUser(userId, iid).find((one) => one.run === run) ?? null
  const rank = board.rankings.rankOf(row)
  const now = { rank, value: rank === null || row === null ? null : value(row.score) }
  const last = store.standing(run, iid)
  const before = { rank: last?.rank ?? null, value: value(last?.score ?? null) }
  const isNews = now.rank !== before.rank || now.value !== before.value
  const today =
    isNews && progress.day !== null
      ? [{ day: progress.day, ...now, previousRank: before.rank, previousValue: before.value }]
      : []
  return { ...now, history: newest([...past.reverse(), ...today], numEvents) }
}

const newest = <T>(list: readonly T[], count: number) => list.slice(Math.max(0, list.length - count))
