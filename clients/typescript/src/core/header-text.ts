/** A text as the value of a header, so that its bytes are sent in UTF-8. */
export function headerText(text: string): string {
  if (/^[\t -~]*$/.test(text) || encodesHeaders()) return text
  // Elsewhere, each character of a header is one byte.
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('')
}

/** True if this runtime sends headers in UTF-8 by itself, as Workers do. Others refuse such characters. */
function encodesHeaders(): boolean {
  try {
    new Headers({ test: '✓' })
    return true
  } catch {
    return false
  }
}
