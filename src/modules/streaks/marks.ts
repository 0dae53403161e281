/**
 * What each period of a streak was, run-length encoded, such as `5e1f2e`: extended (e), kept by a freeze (f), kept by a pause (p), or
 * skipped (s), when the traveller passed over its end or streaks were off. `r` takes no period: by so many the
 * length was restored before the period that follows (S8).
 */
export type Mark = 'e' | 'f' | 'p' | 's' | 'r'

const PART = /(\d+)([efpsr])/g

/** The marks as pairs of a count and what it counts. */
export function parseMarks(marks: string): [number, Mark][] {
  const parts: [number, Mark][] = []
  for (const [, count = '0', mark = ''] of marks.matchAll(PART)) {
    if (isMark(mark)) parts.push([Number(count), mark])
  }
  return parts
}

const isMark = (text: string): text is Mark => text.length === 1 && 'efpsr'.includes(text)

/** The marks with so many more at their end. */
export function marked(marks: string, mark: Mark, count = 1): string {
  const [, number = '', last = ''] = /(\d+)([efpsr])$/.exec(marks) ?? []
  if (last !== mark) return `${marks}${count}${mark}`
  return `${marks.slice(0, -number.length - 1)}${Number(number) + count}${mark}`
}

/** The marks with so many restored before their last period. */
export function restoredBeforeLast(marks: string, count: number): string {
  const [part = '', number = '', last = ''] = /(\d+)([efps])$/.exec(marks) ?? []
  const before = marks.slice(0, marks.length - part.length)
  const rest = Number(number) > 1 ? `${before}${Number(number) - 1}${last}` : before
  return count === 0 ? marks : `${marked(rest, 'r', count)}1${last}`
}
