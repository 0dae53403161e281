/** Waits until the Worker is ready, and runs its timer: for `npm start` and `npm run serve`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint } from './project.mjs'

/** The most time from listening to ready, and how soon after a failure the timer runs again, in milliseconds. */
const PATIENCE = 120_000
const AGAIN = 2000

/** @typedef {() => Promise<{ status: number; text: string }>} Call */

/** Waits until `/health`, which `ask` asks once, answers 200. Throws a Complaint if it does not in time. */
export async function waitForHealth(/** @type {Call} */ ask) {
  for (const deadline = performance.now() + PATIENCE; ; await sleep(100)) {
    const { status, text } = await ask()
    if (status === 200) return
    if (performance.now() > deadline)
      throw new Complaint(
        `The Worker is not ready after ${PATIENCE / 1000} seconds. The last response of /health: ${status} ${oneLine(text)}.`,
      )
  }
}

/**
 * Calls the `scheduled` handler of the Worker now, and at each multiple of `every` milliseconds. After a failure,
 * which `say` gets, it calls again sooner. It keeps no process alive.
 *
 * @type {(call: Call, every: number, say: (problem: string) => unknown) => Promise<never>}
 */
export async function keepSchedule(call, every, say) {
  for (;;) {
    const { status, text } = await call().catch((error) => ({ status: 'nothing', text: String(error) }))
    if (status !== 200) say(`The scheduled handler answered ${status}: ${oneLine(text)}`)
    await sleep(status === 200 ? every - (Date.now() % every) : AGAIN, undefined, { ref: false })
  }
}

const oneLine = (/** @type {string} */ text) => text.replace(/\s+/g, ' ').slice(0, 300)
