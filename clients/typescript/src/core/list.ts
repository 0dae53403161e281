import type { Answered } from './call.js'

/** The place at which a page of a list begins. */
export interface Place {
  after?: string
  skip?: number
}

/** Gets the page at a place. The place of the next page is null on the last one. */
export type GetPage<T> = (place: Place) => Promise<{ answered: Answered<T[]>; next: Place | null }>

/**
 * A list. `for await (const item of list)` goes through all pages, and gets each page when it is needed.
 * `await list` answers the first page only.
 */
export class List<T> implements Promise<T[]>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = 'List'
  readonly #get: GetPage<T>

  constructor(get: GetPage<T>) {
    this.#get = get
  }

  /** All items, page by page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page
  }

  /** The pages, one at a time. */
  async *pages(): AsyncGenerator<T[], void, undefined> {
    for (let place: Place | null = {}; place !== null; ) {
      const { answered, next } = await this.#get(place)
      yield answered.data
      place = next
    }
  }

  /** The items of all pages. */
  async toArray(): Promise<T[]> {
    const all: T[] = []
    for await (const page of this.pages()) all.push(...page)
    return all
  }

  /** The first page, together with the status and the headers. */
  async withResponse(): Promise<Answered<T[]>> {
    return (await this.#get({})).answered
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` answers the first page.
  then<A = T[], B = never>(
    fulfilled?: ((page: T[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(fulfilled, rejected)
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T[] | B> {
    return this.then(undefined, rejected)
  }

  finally(settled?: (() => void) | null): Promise<T[]> {
    return this.then().finally(settled)
  }
}
