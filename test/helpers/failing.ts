/** A failure of D1 in its two forms in turn: the answer of D1, and the failure of the transport. */
export function failing(text: string): () => Error {
  let failures = 0
  return () => {
    failures += 1
    return new Error(failures % 2 === 0 ? `D1_ERROR: ${text}` : text)
  }
}
