/** K7 by itself: who may set a user's attributes, and what becomes of a call that tries. It imports nothing of the service. */

export type Who = 'admin' | 'user'

/** What a call passes, by key; null removes a value. */
export type Passed = Readonly<Record<string, string | null>>

/** A call: by whom, and whether one value that may not be set refuses it or is left out of it. `isRepeat` if it changes nothing of the user. */
export type Call = { by: Who; passed: Passed; errorStatuses: boolean; isRepeat: boolean }

/** What it comes to: the keys that refused it, or the keys that were left out of it, and the attributes afterwards. */
export type Outcome =
  | { refusedFor: string[] }
  | { leftOut: string[]; attributes: Readonly<Record<string, string>> }

/** What a call comes to for a user who has these attributes, of which these may be set by these. */
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
