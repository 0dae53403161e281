/** The prefix of secrets in the Standard Webhooks specification. */
const SECRET_PREFIX = 'whsec_'

const SECRET_BYTES = 32

/** A new secret: `whsec_` and base64 of 32 random bytes (W1, W3). */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return SECRET_PREFIX + btoa(String.fromCharCode(...bytes))
}
