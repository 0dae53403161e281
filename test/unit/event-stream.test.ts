import { describe, expect, test } from 'vitest'
import { BEAT, EventStream, eventText } from '../../src/api/streams'
import { FakeTimers } from '../helpers/timers'

/** A stream with a reader. `read` takes the next part, which must be there already or come at once. */
function newStream() {
  const timers = new FakeTimers()
  const heard = { ends: 0 }
  const stream = new EventStream(timers, {
    onBeat: () => undefined,
    onEnd: () => {
      heard.ends += 1
    },
  })
  const reader = stream.body.getReader()
  const decoder = new TextDecoder()
  const read = async () => {
    const { value, done } = await reader.read()
    return done ? null : decoder.decode(value)
  }
  return { timers, heard, stream, reader, read }
}

const second = 1_000

describe('a stream of events', () => {
  test('[Y1] sends each event as text with its id', async () => {
    const { stream, read } = newStream()
    const text = eventText('ranking', 1.5, '{"version":1.5}')
    expect(text).toBe('event: ranking\nid: 1.5\ndata: {"version":1.5}\n\n')
    const first = read()
    stream.show(text)
    expect(await first).toBe(text)
    stream.tell('a')
    expect(await read()).toBe('a')
  })

  test('[Y4] keeps only the last state for a slow client, and all other events, in order', async () => {
    const { stream, read } = newStream()
    stream.show('state 1 ')
    stream.tell('final 1 ')
    stream.show('state 2 ')
    stream.tell('final 2 ')
    stream.show('state 3 ')
    stream.end()
    expect(await read()).toBe('final 1 final 2 state 3 ')
    expect(await read()).toBeNull()
  })

  test('[Y4] drops a client that does not read for half a minute', async () => {
    const { timers, heard, stream, reader } = newStream()
    stream.show('unread')
    timers.pass(BEAT)
    expect(heard.ends).toBe(0)
    stream.show('newer')
    timers.pass(BEAT)
    expect(heard.ends).toBe(1)
    expect(timers.waiting).toBe(0)
    await expect(reader.read()).rejects.toThrow('does not read')
  })

  test('[Y4] drops a client that reads no comment either', async () => {
    const { timers, heard } = newStream()
    timers.pass(3 * BEAT)
    expect(heard.ends).toBe(1)
  })

  test('[Y4] does not drop a client that reads late, but in time', async () => {
    const { timers, heard, stream, read } = newStream()
    for (let nth = 0; nth < 20; nth += 1) {
      stream.show(`${nth} `)
      timers.pass(24 * second)
      expect(await read()).toMatch(`${nth} `)
    }
    expect(heard.ends).toBe(0)
  })

  test('[Y4] drops a client with too many unread events that nothing replaces', () => {
    const { heard, stream } = newStream()
    for (let nth = 0; nth < 100; nth += 1) stream.tell(String(nth))
    expect(heard.ends).toBe(0)
    stream.tell('one more')
    expect(heard.ends).toBe(1)
  })

  test('[Y4] ends when the client goes', async () => {
    const { timers, heard, stream, reader } = newStream()
    stream.show('state')
    await reader.cancel()
    expect(heard.ends).toBe(1)
    expect(timers.waiting).toBe(0)
    stream.show('late')
    stream.tell('late')
    stream.end()
    expect(heard.ends).toBe(1)
  })
})
