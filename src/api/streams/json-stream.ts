import { jsonBytes, MOST_AT_ONCE } from '../../lib/packed'

/** A list that is read page by page while it is sent. */
type Pages<V> = V extends readonly (infer Item)[] ? AsyncIterable<readonly Item[]> : never

/**
 * A body that is too long for memory: an object with some lists that come in pages. The complete body has the
 * shape that the operation documents.
 */
export class Streamed<Body> {
  constructor(readonly fields: { [Name in keyof Body]: Body[Name] | Pages<Body[Name]> }) {}
}

/** A list that is too long for memory. */
export class StreamedList<Item> {
  constructor(readonly pages: AsyncIterable<readonly Item[]>) {}
}

/** The maximum bytes of JSON of a list that is sent at once. */
const MOST_HELD = 2 * MOST_AT_ONCE

/**
 * A list for a response. A short list is read completely first, so that an error during the read becomes an
 * error response. A longer list is read page by page while it is sent.
 */
export async function listed<Item>(pages: AsyncGenerator<Item[]>): Promise<Item[] | StreamedList<Item>> {
  const head: Item[] = []
  let bytes = 0
  for (;;) {
    const { value, done } = await pages.next()
    if (done) return head
    head.push(...value)
    bytes += jsonBytes(value)
    if (bytes > MOST_HELD) return new StreamedList(after(head, pages))
  }
}

async function* after<Item>(head: Item[], pages: AsyncGenerator<Item[]>): AsyncGenerator<Item[]> {
  yield head
  yield* pages
}

/**
 * The body as JSON, made while it is read. An error on the way ends the stream with an error, so that no
 * client takes the sent part for the whole. It also calls `failed`.
 */
export function streamOf(
  body: Streamed<object> | StreamedList<unknown>,
  failed: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const texts = body instanceof StreamedList ? listOf(body.pages) : jsonOf(body.fields)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await texts.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      } catch (error) {
        failed(error)
        controller.error(error)
      }
    },
    async cancel() {
      await texts.return(undefined)
    },
  })
}

async function* jsonOf(fields: object): AsyncGenerator<string, undefined> {
  let before = '{'
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    if (isPages(value)) yield* listOf(value)
    else yield JSON.stringify(value)
    before = ','
  }
  yield '}'
}

async function* listOf(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<string, undefined> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.map((item) => JSON.stringify(item)).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

const isPages = (value: unknown): value is AsyncIterable<readonly unknown[]> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value
