import { startTimer } from '../core/timers.js'

/** One event of a stream. */
interface ServerSentEvent {
  event: string
  data: string
}

/**
 * The events of a `text/event-stream`, as they arrive. It ends with the stream.
 *
 * @param silence milliseconds after which a stream without any bytes is lost
 * @throws the stream's error, or an Error if the stream is silent for too long
 */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array> | null,
  silence: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let stopTimer = () => {}
  let isSilent = false
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', cancel, { once: true })
  let rest = ''
  try {
    for (;;) {
      stopTimer()
      stopTimer = startTimer(() => {
        isSilent = true
        cancel()
      }, silence)
      const { done, value } = await reader.read()
      if (isSilent) throw new Error('The stream was silent for too long.')
      if (done) return
      rest += decoder.decode(value, { stream: true })
      // An event ends at an empty line. The last part is not whole yet.
      const blocks = rest.replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventIn(block)
        if (event !== null) yield event
      }
    }
  } finally {
    stopTimer()
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** The event in a block of lines, or null if the block has only comments. */
function eventIn(block: string): ServerSentEvent | null {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+):? ?(.*)$/.exec(line) ?? []
    if (field === 'event') event = value
    if (field === 'data') data.push(value)
  }
  return data.length === 0 ? null : { event, data: data.join('\n') }
}
