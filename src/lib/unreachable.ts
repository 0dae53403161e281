/**
 * Ends a switch over all values of a type. If the switch forgets a value, the call fails the type check.
 * Throws an Error if it is called: then a value does not match its type.
 */
export function unreachable(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`)
}
