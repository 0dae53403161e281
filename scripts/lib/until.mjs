import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again, until it is so or the patience is over. Answers whether it is so. Times are in milliseconds. */
export async function until(
  /** @type {() => unknown} */ isSo,
  /** @type {{ patience: number; pause: number }} */ { patience, pause },
) {
  for (const deadline = performance.now() + patience; ; await sleep(pause)) {
    if (await isSo()) return true
    if (performance.now() > deadline) return false
  }
}
