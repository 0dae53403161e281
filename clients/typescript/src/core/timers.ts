/** The longest time of `setTimeout` in milliseconds: 24.8 days. It ends longer ones at once. */
const LONGEST = 2 ** 31 - 1

/**
 * Runs a function once after some milliseconds, however many: after any number of days, and never for
 * `Infinity`. The packages use it for all their timeouts.
 *
 * @returns a function that stops it
 */
export function startTimer(run: () => void, milliseconds: number): () => void {
  let left = milliseconds
  let timer: ReturnType<typeof setTimeout>
  const wait = () => {
    const part = Math.min(left, LONGEST)
    left -= part
    timer = setTimeout(left > 0 ? wait : run, part)
  }
  wait()
  return () => clearTimeout(timer)
}
