/**
 * Calls functions of the app. What they throw, at once or later, goes to `onError`. Without one, or if it
 * throws too, it is reported like an error that nothing catches. It never comes back to the client.
 */
export function tell(
  call: () => unknown,
  options: { onError?: ((error: unknown) => unknown) | undefined } = {},
): void {
  const failed = (error: unknown) => {
    if (options.onError !== undefined) tell(() => options.onError?.(error))
    else report(error)
  }
  try {
    // An async function fails later. Without this, Node would end the process then.
    Promise.resolve(call()).catch(failed)
  } catch (error) {
    failed(error)
  }
}

/** Reports an error. Node has no `reportError`, and the one of Deno ends the process. */
function report(error: unknown): void {
  if (typeof reportError === 'function' && !('Deno' in globalThis)) reportError(error)
  else console.error(error)
}
