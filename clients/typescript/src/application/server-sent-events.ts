import { LaurelError } from '../core/laurel-error.js'
import { startTimer } from '../core/timers.js'

/** One event of a stream. */
interface ServerSentEvent {
  event: string
  data: string
}

/**
 * The events of a `text/event-stream`, as they arrive: their types and their data. It ends with the stream.
 *
 * @param silence milliseconds after which a stream without any bytes is lost
 * @throws the stream's error, or an Error if the stream is silent for too long
 */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array> | null,
  silence: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  // The `fetch` of React Native has no body that can be read in parts.
  if (!body) throw new LaurelError('This runtime cannot read an answer in parts.', { status: 0 })
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let stopTimer = () => {}
  let isSilent = false
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', cancel, { once: true })
  let rest = ''
  let event = 'message'
  let data: string[] = []
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
      // A "\r" at the end may be the first half of "\r\n".
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event, data: data.join('\n') }
          event = 'message'
          data = []
        }
        const { field, text } = partsOf(line)
        if (field === 'event') event = text || 'message'
        if (field === 'data') data.push(text)
      }
    }
  } finally {
    stopTimer()
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** The two parts of a line. A line without a colon is a field without a text. A comment has an empty field. */
function partsOf(line: string): { field: string; text: string } {
  const [field = ''] = line.split(':', 1)
  return { field, text: line.slice(field.length + 1).replace(/^ /, '') }
}
