/** The answer to a call, with its headers. */
export interface Answered<T> {
  /** The body. */
  data: T
  /** The answer's status and headers. Its body is already read. */
  response: Response
  /** The id of the request, which the service also writes to its log. */
  requestId: string | null
  /** Names the parts of the request that the service left out, if any: the header `X-Laurel-Warning`. */
  warning: string | null
}

/** A call that was sent. `await` it for the body, or `withResponse()` for the headers too. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Call'
  readonly #answered: Promise<Answered<T>>

  constructor(answered: Promise<Answered<T>>) {
    this.#answered = answered
  }

  /** The body, together with the status and the headers. */
  withResponse(): Promise<Answered<T>> {
    return this.#answered
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  then<A = T, B = never>(
    fulfilled?: ((body: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#answered.then(({ data }) => data).then(fulfilled, rejected)
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected)
  }

  finally(settled?: (() => void) | null): Promise<T> {
    return this.then().finally(settled)
  }
}
