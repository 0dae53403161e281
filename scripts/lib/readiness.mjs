/** Waits until the Worker is ready, and then runs its timer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint } from './project.mjs'

/** The most time from listening to ready, in milliseconds. */
const PATIENCE = 120_000

const MINUTE = 60_000

/**
 * Waits until `GET /health` responds with 200. Throws a Complaint if it does not in time.
 *
 * @type {(url: string, signal: AbortSignal, send: typeof fetch) => Promise<void>}
 */
export async function waitForHealth(url, signal, send) {
  const deadline = performance.now() + PATIENCE
  let last = 'nothing'
  for (let pause = 50; ; pause = Math.min(pause * 1.5, 1000)) {
    await sleep(pause, undefined, { signal })
    if (performance.now() > deadline) {
      throw new Complaint(
        `The Worker is not ready after ${PATIENCE / 1000} seconds. The last response of /health: ${last}.`,
      )
    }
    try {
      const either = AbortSignal.any([signal, AbortSignal.timeout(5000)])
      const answer = await send(`${url}/health`, { signal: either })
      if (answer.status === 200) return
      last = `${answer.status} ${(await answer.text()).slice(0, 300)}`
    } catch (error) {
      signal.throwIfAborted()
      last = String(error)
    }
  }
}

/**
 * Calls the Worker's `scheduled` handler now and every minute, because wrangler does not. After a failure it
 * prints a line and calls again sooner. It keeps no process alive.
 */
export async function keepSchedule(/** @type {string} */ url, /** @type {AbortSignal} */ signal) {
  for (let pause = 1000; ; ) {
    const succeeded = await callScheduled(url, signal)
    pause = succeeded ? MINUTE : Math.min(pause * 2, MINUTE)
    await sleep(pause, undefined, { signal, ref: false })
  }
}

/** Returns whether the call succeeded. */
async function callScheduled(/** @type {string} */ url, /** @type {AbortSignal} */ signal) {
  try {
    const address = `${url}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent('*/5 * * * *')}`
    const answer = await fetch(address, { signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]) })
    if (answer.ok) return true
    process.stderr.write(`The scheduled handler answered ${answer.status}: ${oneLine(await answer.text())}\n`)
  } catch (error) {
    if (!signal.aborted) process.stderr.write(`The scheduled handler failed: ${oneLine(String(error))}\n`)
  }
  return false
}

const oneLine = (/** @type {string} */ text) => text.replace(/\s+/g, ' ').slice(0, 300)
