/**
 * Rule K7 alone: who may set a user's attributes, and the outcome of a call that sets them. Imports nothing
 * from the service.
 */

export type Who = 'admin' | 'user'

/** The attributes that a call passes, by key. Null removes a value. */
export type Passed = Readonly<Record<string, string | null>>

/**
 * A call. `by` is the caller. `errorStatuses` says whether a forbidden value fails the call or is left out.
 * `isRepeat` says that the call changes nothing of the user.
 */
export type Call = { by: Who; passed: Passed; errorStatuses: boolean; isRepeat: boolean }

/**
 * The outcome: the keys that made the call fail; or the keys that were left out, and the attributes after the
 * call.
 */
export type Outcome =
  | { refusedFor: string[] }
  | { leftOut: string[]; attributes: Readonly<Record<string, string>> }

/** The outcome of a call for a user with these attributes. `rules` says who may set which attribute. */
export function outcomeOf(
  rules: Readonly<Record<string, Who>>,
  stored: Readonly<Record<string, string>>,
  call: Call,
): Outcome {
  const denied: string[] = []
  const after = { ...stored }
  for (const [key, value] of Object.entries(call.passed)) {
    const isSame = value === null ? !(key in stored) : stored[key] === value
    if (call.by === 'user' && rules[key] === 'admin' && !isSame) denied.push(key)
    else if (value === null) delete after[key]
    else after[key] = value
  }
  if (call.errorStatuses && denied.length > 0) return { refusedFor: denied }
  return { leftOut: denied, attributes: call.isRepeat ? stored : after }
}
