/**
 * What each period of a streak was, run-length encoded, such as `5e1f2e`: extended (e), kept by a freeze (f), kept by a pause (p),
 * skipped (s), when travel spared it or streaks were off, or open (o): it is not over, although a later one is satisfied, since its
 * user has come back to an earlier date (S11). `r` takes no period: by so many the length was restored before the period that
 * follows (S8).
 */
export type Mark = 'e' | 'f' | 'p' | 's' | 'o' | 'r'

const PART = /(\d+)([efpsor])/g

/** The marks as pairs of a count and what it counts. */
export function parseMarks(marks: string): [number, Mark][] {
  const parts: [number, Mark][] = []
  for (const [, count = '0', mark = ''] of marks.matchAll(PART)) {
    if (isMark(mark)) parts.push([Number(count), mark])
  }
  return parts
}

const isMark = (text: string): text is Mark => text.length === 1 && 'efpsor'.includes(text)

/** The marks with so many more at their end. */
export function marked(marks: string, mark: Mark, count = 1): string {
  const [, number = '', last = ''] = /(\d+)([efpsor])$/.exec(marks) ?? []
  if (last !== mark) return `${marks}${count}${mark}`
  return `${marks.slice(0, -number.length - 1)}${Number(number) + count}${mark}`
}

/** The marks with so many restored before their last periods. */
export function restoredBeforeLast(marks: string, count: number, periods = 1): string {
  if (count === 0) return marks
  const parts = parseMarks(marks)
  const tail: [number, Mark][] = []
  for (let left = periods; left > 0; ) {
    const part = parts.pop()
    if (part === undefined) break
    const [number, mark] = part
    const taken = mark === 'r' ? number : Math.min(number, left)
    if (number > taken) parts.push([number - taken, mark])
    tail.unshift([taken, mark])
    if (mark !== 'r') left -= taken
  }
  return [...parts, [count, 'r'] as const, ...tail].reduce(
    (text, [number, mark]) => marked(text, mark, number),
    '',
  )
}
