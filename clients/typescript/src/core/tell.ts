/**
 * Calls functions of the caller. Their errors go to `onError`. Without one, or if it throws too, they are
 * reported like errors that nothing catches. They never come back to the client.
 */
export function tell(
  call: () => void,
  options: { onError?: ((error: unknown) => void) | undefined } = {},
): void {
  try {
    call()
  } catch (error) {
    if (options.onError !== undefined) tell(() => options.onError?.(error))
    // Node has no `reportError`.
    else if (typeof reportError === 'function') reportError(error)
    else console.error(error)
  }
}
