/** The most warnings of a client. */
const MOST = 100

/** Warns in development about fields of requests that the service ignores, once for each field. */
export class IgnoredFields {
  readonly #seen = new Set<string>()

  /**
   * Reads the header `X-Laurel-Ignored` of an answer.
   *
   * @param operation the method and the path, such as `PATCH /v1/users/{id}`
   */
  warn(operation: string, headers: Headers): void {
    const header = headers.get('x-laurel-ignored')
    if (header === null) return
    // The header may end with the number of fields that it does not name, such as `+12`.
    const [, named = '', more] = /^(.*?)(?:, )?(?:\+(\d+))?$/.exec(header) ?? []
    const fresh = named
      .split(', ')
      .filter((field) => field !== '' && !this.#seen.has(`${operation} ${field}`))
    if (fresh.length === 0 || this.#seen.size >= MOST) return
    for (const field of fresh) this.#seen.add(`${operation} ${field}`)
    if (more !== undefined) fresh.push(`and ${more} more`)
    console.warn(
      `Laurel ignored fields that the body of ${operation} does not have: ${fresh.join(', ')}. Check their names at /docs.`,
    )
  }
}
