/**
 * How long tests wait for what must come by itself, in milliseconds: long, since a busy machine is no fault. A test that
 * waits in vain fails by this, not by the limit of the test, so that it says what did not come.
 */
export const PATIENCE = 200_000
