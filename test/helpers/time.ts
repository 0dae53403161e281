/**
 * The time of the tests. In each test file it begins at the same moment, and then goes on as real time does.
 * So no test depends on today's date, and no test can meet a midnight by chance.
 */

/** When each test file begins: on a Wednesday at noon in UTC, months before any zone changes its clocks. */
export const START = Date.UTC(2026, 5, 3, 12)
/**
 * What the test clock of a server shows at first: the same day of a year with the same days of the week. It is far
 * ahead, because ids have real time, and the test clock is never behind that (C1).
 */
export const SERVER_START = Date.UTC(2082, 5, 3, 12)
/** The day of `START`, as a number of days since 1970. */
export const TODAY = Math.floor(START / 86_400_000)

const realNow = Date.now
/** How much later real time is, in milliseconds. */
let ahead = 0

/** Begins the time of a test file. A setup file calls it, before anything reads the time. */
export function beginTime(): void {
  ahead = realNow() - START
}

/** The present moment of the tests, as the code under test sees it too. */
export const present = (): number => realNow() - ahead

/** A moment of the tests by the machine's clock, which the runtime and other processes use. */
export const toReal = (moment: number): number => moment + ahead
/** A moment of the machine's clock as the tests see it. */
export const fromReal = (moment: number): number => moment - ahead

Date.now = present
globalThis.Date = new Proxy(Date, {
  apply: (target) => new target(present()).toString(),
  construct: (target, values, made) =>
    Reflect.construct(target, values.length > 0 ? values : [present()], made),
})
