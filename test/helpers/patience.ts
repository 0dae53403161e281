/**
 * The longest time, in milliseconds, that tests wait for background work. It is long, because a busy machine
 * must not fail a test. A test that waits too long fails by this limit and not by the limit of the test, so
 * its message names the missing thing.
 */
export const PATIENCE = 200_000
