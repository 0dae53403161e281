/** A proxy that fails as networks, gateways and portals do. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const HTML = { 'content-type': 'text/html' }

/** Answers of others than Laurel, each with its status, headers and body. */
const FOREIGN: readonly [number, Record<string, string>, string][] = [
  [429, { ...HTML, 'retry-after': '1' }, '<h1>Too many requests</h1>'],
  [502, HTML, '<h1>Bad gateway</h1>'],
  [200, HTML, '<h1>Welcome to our wireless network</h1>'],
  [403, HTML, '<h1>Blocked by your company</h1>'],
  [404, HTML, '<h1>Not found</h1>'],
  [204, {}, ''],
  [200, { 'content-type': 'application/json' }, '{"ok":true}'],
]

/** The share of requests that fail. */
const SHARE = 0.15

/** How many requests of events and of streams came, and how many of them the proxy let fail. */
export type Counts = { events: number; failedEvents: number; streams: number; failedStreams: number }

export type FaultyProxy = {
  server: Server
  counts: Counts
  /** Ends all open streams in the middle. */
  cutStreams(): void
  /** Passes everything on from now on. */
  calm(): void
}

/**
 * Makes a proxy in front of a service, which also answers `/page` with a page.
 *
 * @param random - a number from 0 to below 1, from a seed
 */
export function faultyProxy(target: string, page: string, random: () => number): FaultyProxy {
  const counts: Counts = { events: 0, failedEvents: 0, streams: 0, failedStreams: 0 }
  const streams = new Set<ServerResponse>()
  let isCalm = false

  const pass = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, isAnswerLost: boolean) => {
    const { method, headers } = incoming
    const passed = request(`${target}${incoming.url}`, { method, headers }, (answer) => {
      if (isAnswerLost) {
        answer.resume().once('end', () => outgoing.destroy())
        return
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(outgoing)
    })
    passed.once('error', () => outgoing.destroy())
    outgoing.once('close', () => passed.destroy())
    passed.end(body)
  }

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (incoming.url === '/page') return void outgoing.writeHead(200, HTML).end(page)
    const body = await buffer(incoming)
    const isStream = incoming.url?.includes('/live') ?? false
    if (isStream) {
      counts.streams += 1
      streams.add(outgoing)
      outgoing.once('close', () => streams.delete(outgoing))
    } else counts.events += 1
    const isFailing = !isCalm && random() < SHARE
    if (!isFailing) return pass(incoming, body, outgoing, false)
    counts[isStream ? 'failedStreams' : 'failedEvents'] += 1
    const kind = Math.floor(random() * (FOREIGN.length + 3))
    const foreign = FOREIGN[kind]
    if (foreign !== undefined) return void outgoing.writeHead(foreign[0], foreign[1]).end(foreign[2])
    if (kind === FOREIGN.length) return void outgoing.destroy()
    if (kind === FOREIGN.length + 1) return pass(incoming, body, outgoing, true)
    await sleep(random() * 3_000)
    pass(incoming, body, outgoing, false)
  }

  return {
    server: createServer((incoming, outgoing) => {
      answer(incoming, outgoing).catch(() => outgoing.destroy())
    }),
    counts,
    cutStreams: () => {
      counts.failedStreams += streams.size
      for (const stream of streams) stream.destroy()
    },
    calm: () => {
      isCalm = true
    },
  }
}
