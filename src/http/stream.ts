/** A list that is read page by page while it is sent. */
type Pages<V> = V extends readonly (infer Item)[] ? AsyncIterable<readonly Item[]> : never

/** A body that is too long to be held: an object some of whose lists come in pages. Its whole has the shape that the operation documents. */
export class Streamed<Body> {
  constructor(readonly fields: { [Name in keyof Body]: Body[Name] | Pages<Body[Name]> }) {}
}

/**
 * The body as JSON, made as it is read. A fault on the way ends the stream with an error, so that what was sent can't be taken for the
 * whole; `failed` is told.
 */
export function streamOf(
  { fields }: Streamed<object>,
  failed: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const texts = jsonOf(fields)
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

async function* listOf(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
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
