import type * as z from 'zod'
import { compareText } from '../../lib/ids'
import { systemNow } from '../../lib/system-clock'
import {
  type GroupsReply,
  type GroupsRequest,
  groupOf,
  type PageReply,
  type PageRequest,
} from '../board.messages'
import type { Score } from '../score.rules'
import type { Board } from './board.model'
import type { GroupSize } from './group-sizes.cache'

type Page = z.output<typeof PageReply>

/** A page of the ranking of one run: of one group, or of all groups that match, ranked together (L6, L9). */
export function readPage(
  board: Board,
  request: Pick<z.output<typeof PageRequest>, 'run' | 'group' | 'offset' | 'limit' | 'userId'>,
): Page {
  const { offset, limit, userId } = request
  const ranked = board.isFinal(request.run) ? finals(board, request) : live(board, request)
  const place = userId === null ? 0 : ranked.findIndex((one) => one.userId === userId)
  if (place < 0) return []
  const first = Math.max(0, place + offset)
  return ranked.slice(first, first + limit).map((one, index) => ({
    userId: one.userId,
    iid: one.iid,
    rank: one.rank ?? first + index + 1,
    value: board.served(one.score),
  }))
}

/**
 * A page of the groups of one run: groups with the most ranked users first, then in order of their values.
 * Empty while the board is hidden (S10).
 */
export function readGroups(
  board: Board,
  { run, after, limit }: Pick<z.output<typeof GroupsRequest>, 'run' | 'after' | 'limit'>,
): z.output<typeof GroupsReply> {
  const { store, places, groupSizes } = board
  const isFinal = board.isFinal(run)
  const max = isFinal && places > 0 ? store.maxOf(run) : places
  const sizes = groupSizes.of(run, systemNow(), () => store.groupSizes(run, max, isFinal))
  const isAfter = ({ group, users }: GroupSize) =>
    after === null || users < after.users || (users === after.users && compareText(group, after.group) > 0)
  const first = sizes.findIndex(isAfter)
  const groups = first < 0 ? [] : sizes.slice(first, first + limit)
  return { groups, hasMore: first >= 0 && first + groups.length < sizes.length }
}

/** A ranked user. Without `rank`, the rank is the place in the list. */
type Ranked = { userId: string; iid: string; score: Score; rank?: number }
type Asked = Pick<z.output<typeof PageRequest>, 'run' | 'group'>

function live(board: Board, { run, group }: Asked): readonly Ranked[] {
  const whole = groupOf(group)
  return whole === null
    ? board.store.bestMatching(run, group, board.places)
    : board.rankings.of(run, whole).entries
}

/** A final ranking. An erased user's place stays empty: others keep theirs (U8). Empty while hidden (S10). */
function finals({ store, definition }: Board, { run, group }: Asked): Ranked[] {
  if (definition.isHidden) return []
  const whole = groupOf(group)
  const entries =
    whole === null ? store.finalsMatching(run, group, store.maxOf(run)) : store.finalGroup(run, whole)
  return entries.flatMap(({ userId, iid, score }, index) =>
    userId === null || iid === null ? [] : [{ userId, iid, score, rank: index + 1 }],
  )
}
