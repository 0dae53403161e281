/**
 * Ends a switch over all values of a type. If the switch forgets a value, the call fails the type check. Throws an Error if it is ever
 * reached, which means that a value came in that its type does not have.
 */
export function unreachable(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`)
}
