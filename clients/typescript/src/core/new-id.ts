/** A random UUID. `crypto.randomUUID` is missing in pages without https, and React Native has no `crypto`. */
export function newId(): string {
  const bytes = globalThis.crypto?.getRandomValues?.(new Uint8Array(16)) ?? timedBytes()
  const hex = Array.from(bytes, (byte, index) => {
    // Version 4 and variant 1 (RFC 9562).
    const value = index === 6 ? (byte & 0x0f) | 0x40 : index === 8 ? (byte & 0x3f) | 0x80 : byte
    return value.toString(16).padStart(2, '0')
  }).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * Bytes that are unique enough for an idempotency key, which only has to differ from those of the same user and
 * metric (E4): the millisecond, since two devices may have the same numbers from `Math.random`, and 74 bits of
 * chance. Others may guess them: an id is no secret.
 */
const timedBytes = (): Uint8Array =>
  Uint8Array.from({ length: 16 }, (_, index) =>
    index < 6 ? Math.floor(Date.now() / 256 ** (5 - index)) % 256 : Math.floor(Math.random() * 256),
  )
