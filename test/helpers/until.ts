import { vi } from 'vitest'
import { PATIENCE } from './patience'

/** Waits until a condition becomes true by itself. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(isSo, { timeout: PATIENCE, interval: 20 })
}

export async function untilHeld(assertions: () => unknown): Promise<void> {
  await vi.waitFor(assertions, { timeout: PATIENCE, interval: 20 })
}
