/**
 * The kinds of periods of a streak. The history is run-length encoded, such as `5e1f2e`.
 * - `e`: extended. `f`: kept by a freeze. `p`: kept by a pause.
 * - `s`: skipped, because travel spared it or streaks were off.
 * - `o`: open. It is not over although a later period is satisfied, since the user has come back to an
 *   earlier date (S11).
 * - `r`: not a period. Its count is the length that a restore added before the next period (S8).
 */
export type PeriodKind = 'e' | 'f' | 'p' | 's' | 'o' | 'r'

const PART = /(\d+)([efpsor])/g

/** The history as pairs of a count and a kind. */
export function parseHistory(history: string): [number, PeriodKind][] {
  const parts: [number, PeriodKind][] = []
  for (const [, count = '0', kind = ''] of history.matchAll(PART)) {
    if (isPeriodKind(kind)) parts.push([Number(count), kind])
  }
  return parts
}

const isPeriodKind = (text: string): text is PeriodKind => text.length === 1 && 'efpsor'.includes(text)

/** The history with `count` periods of a kind added at its end. */
export function marked(history: string, kind: PeriodKind, count = 1): string {
  const [, number = '', last = ''] = /(\d+)([efpsor])$/.exec(history) ?? []
  if (last !== kind) return `${history}${count}${kind}`
  return `${history.slice(0, -number.length - 1)}${Number(number) + count}${kind}`
}

/** The history with a restore of `count` added before its last `periods` periods. */
export function restoredBeforeLast(history: string, count: number, periods = 1): string {
  if (count === 0) return history
  const parts = parseHistory(history)
  const tail: [number, PeriodKind][] = []
  for (let left = periods; left > 0; ) {
    const part = parts.pop()
    if (part === undefined) break
    const [number, kind] = part
    const taken = kind === 'r' ? number : Math.min(number, left)
    if (number > taken) parts.push([number - taken, kind])
    tail.unshift([taken, kind])
    if (kind !== 'r') left -= taken
  }
  return [...parts, [count, 'r'] as const, ...tail].reduce(
    (text, [number, kind]) => marked(text, kind, number),
    '',
  )
}
