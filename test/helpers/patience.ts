import { vi } from 'vitest'

/**
 * The longest time, in milliseconds, that tests wait for background work. It is long, because a busy machine
 * must not fail a test. A test that waits too long fails by this limit and not by the limit of the test, so
 * its message names the missing thing.
 */
export const PATIENCE = 200_000

/** Waits until a condition becomes true by itself. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(isSo, { timeout: PATIENCE, interval: 20 })
}

/** Waits until assertions hold. */
export async function untilHeld(assertions: () => unknown): Promise<void> {
  await vi.waitFor(assertions, { timeout: PATIENCE, interval: 20 })
}
