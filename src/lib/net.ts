import type { IPv4, IPv6 } from 'ipaddr.js'
import ipaddr from 'ipaddr.js'
import * as z from 'zod'
import { parseIso, SECOND } from './clock'
import { MOST_URL_CHARACTERS } from './limits'
import { systemNow } from './system-clock'

/**
 * The value of a header that may have been sent several times. The run time joins the values with `, `, and
 * does not tell them from one value. Equal values become one; others stay joined (E4).
 */
export function unrepeated(value: string): string {
  const [first = '', ...others] = value.split(', ')
  return others.every((other) => other === first) ? first : value
}

/** A response. `text` is the beginning of its body. */
export type Answer = { status: number; headers: Headers; text: string }

/**
 * Sends a POST request, without following redirects. Null if there is no status within `patience`
 * milliseconds. Throws the error of `fetch`. Once there is a status, a body that is late, endless or cut off
 * changes nothing: `most` bytes of it are read, for at most `bodyPatience` milliseconds.
 */
export async function post(
  url: string,
  request: { headers: Record<string, string>; body: string },
  limits: { patience: number; bodyPatience: number; most: (status: number) => number },
): Promise<Answer | null> {
  // AbortSignal.timeout has a timer that cannot be cleared. It would keep an object awake after the response,
  // and that time costs money.
  const limit = new AbortController()
  let timer = setTimeout(() => limit.abort(), limits.patience)
  try {
    const init = { method: 'POST', ...request, redirect: 'manual', signal: limit.signal } as const
    const { status, headers, body } = await fetch(url, init)
    clearTimeout(timer)
    timer = setTimeout(() => limit.abort(), limits.bodyPatience)
    return { status, headers, text: body === null ? '' : await beginning(body, limits.most(status)) }
  } catch (error) {
    if (limit.signal.aborted) return null
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** What codes of Node's errors mean, as the end of a sentence. The first pattern that matches counts. */
const REASONS: readonly [code: RegExp, reason: string][] = [
  [/^ENOTFOUND$/, 'the name of the host was not found'],
  [/^EAI_/, 'the name of the host could not be looked up'],
  [/^EPRIVATE$/, 'the host leads to a private address, which only WEBHOOK_ALLOW can permit'],
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed'],
  [/^E(TIMEDOUT|HOST|NET)/, 'the host cannot be reached'],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has expired'],
  [/ALTNAME_INVALID$/, 'the certificate is for another host'],
  [/CERT|SIGNATURE/, 'the certificate is not valid, or its issuer is not known'],
  [/^(ERR_SSL|ERR_TLS|EPROTO)/, 'the TLS handshake failed'],
  [/^ENOENT$/, 'there is no file that SSL_CERT_FILE names'],
]

const Coded = z.object({ cause: z.object({ code: z.string() }) })

/**
 * Why a request got no answer (W4), in fixed words; undefined if it is not known. Errors of `fetch` have a code
 * in Node and under `npm run serve`.
 */
export function knownReason(error: unknown): string | undefined {
  const code = Coded.safeParse(error).data?.cause.code ?? ''
  const reason = REASONS.find(([pattern]) => pattern.test(code))?.[1]
  return reason && `${reason} (${code})`
}

/** The same, or else the text of the platform, without the URL, which may contain a secret. */
export function whyNoAnswer(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return knownReason(error) ?? text.replaceAll(/https?:\S+/g, 'the URL').slice(0, 200)
}

/** The first bytes of a body, as text. If the body breaks off or time is up, the bytes so far. */
async function beginning(body: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let [text, room] = ['', most]
  try {
    while (room > 0) {
      const { done, value } = await reader.read()
      if (done) break
      const part = value.subarray(0, room)
      room -= part.length
      text += decoder.decode(part, { stream: true })
    }
  } catch {
    // The status is enough.
  }
  await reader.cancel().catch(() => undefined)
  return text
}

/**
 * The wait that `Retry-After` asks for, in milliseconds; undefined if it asks for none. Some senders name a fraction of
 * a second. A date counts from the sender's own `Date`, so that the two clocks need not agree.
 */
export function retryAfterIn(headers: Headers): number | undefined {
  const asked = unrepeated(headers.get('retry-after') ?? '')
  if (/^\d+(\.\d+)?$/.test(asked)) return Math.ceil(Number(asked) * SECOND)
  const until = parseIso(asked)
  return until === null
    ? undefined
    : Math.max(0, until - (parseIso(headers.get('date') ?? '') ?? systemNow()))
}

/** The purpose of an address that is not public. Messages contain this word. */
type AddressKind =
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'unique-local'
  | 'shared'
  | 'multicast'
  | 'documentation'
  | 'broadcast'
  | 'reserved'

type Range = ReturnType<typeof ipaddr.parseCIDR>

const ranges = (kind: AddressKind, ...cidrs: string[]): [Range, AddressKind][] =>
  cidrs.map((cidr) => [ipaddr.parseCIDR(cidr), kind])

/**
 * Addresses that are not public: IANA's registries of special IPv4 and IPv6 addresses, and 224.0.0.0/3. The
 * first range that contains an address decides its kind. The library has its own list, but that list also
 * rejects public addresses with a special purpose, such as the addresses of AS112.
 */
const SPECIAL = [
  ...ranges('loopback', '127.0.0.0/8', '::1/128'),
  ...ranges('private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fec0::/10'),
  ...ranges('link-local', '169.254.0.0/16', 'fe80::/10'),
  ...ranges('unique-local', 'fc00::/7'),
  ...ranges('shared', '100.64.0.0/10'),
  ...ranges('multicast', '224.0.0.0/4', 'ff00::/8'),
  ...ranges(
    'documentation',
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ),
  ...ranges('broadcast', '255.255.255.255/32'),
  ...ranges('reserved', '0.0.0.0/8', '192.0.0.0/24', '192.88.99.0/24', '198.18.0.0/15', '240.0.0.0/4'),
  // Protocol assignments: Teredo, benchmarks, overlays.
  ...ranges('reserved', '2001::/23'),
]

/** The range of public IPv6 addresses. All other IPv6 addresses are reserved. */
const GLOBAL = ipaddr.parseCIDR('2000::/3')
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')
const SIX_TO_FOUR = ipaddr.parseCIDR('2002::/16')

/** The kind of an IPv6 address as `URL` writes it, or of an IPv4 one in it; null if it is public. */
function kindOfIpv6(text: string): AddressKind | null {
  const address = ipaddr.IPv6.parse(text)
  // A mapped address leads to the same machine as the IPv4 address in it.
  if (address.isIPv4MappedAddress()) return kindOf(address.toIPv4Address())
  const bytes = address.toByteArray()
  // These lead through a gateway. Its loopback is not ours, so the kind is never `loopback`.
  if (address.match(NAT64)) return tunnelled(bytes.slice(12))
  if (address.match(SIX_TO_FOUR)) return tunnelled(bytes.slice(2, 6))
  return kindOf(address) ?? (address.match(GLOBAL) ? null : 'reserved')
}

/**
 * The part of an address that one customer of an access provider has: all of an IPv4 address, and the /64
 * network of an IPv6 address. Every spelling of an address gives the same result. An IPv4 address inside an
 * IPv6 one counts as IPv4. A text that is not an IPv6 address is returned unchanged.
 */
export function networkOf(text: string): string {
  if (!ipaddr.IPv6.isValid(text)) return text
  const address = ipaddr.IPv6.parse(text)
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64`
}

const kindOf = (address: IPv4 | IPv6): AddressKind | null =>
  SPECIAL.find(([range]) => range[0].kind() === address.kind() && address.match(range))?.[1] ?? null

const kindOfAddress = (text: string) =>
  text.includes(':') ? kindOfIpv6(text) : kindOf(ipaddr.IPv4.parse(text))

/** Whether an address is public. `npm run serve` asks too. */
export const isPublicAddress = (text: string): boolean => kindOfAddress(text) === null

function tunnelled(bytes: number[]): AddressKind | null {
  return kindOf(new ipaddr.IPv4(bytes)) === null ? null : 'reserved'
}

/** The URL of a permitted target, or the reason against it, which messages show after the field's name. */
export type Target = { url: string } | { refused: string }

/** The targets that a deployment permits in addition to public https targets. */
type TargetRules = {
  /** Whether loopback targets are permitted: only with the test clock. */
  loopbackAllowed: boolean
  /** Targets that are permitted by name, over http too, in the form that `namedTarget` returns. */
  allowed?: ReadonlySet<string>
}

/** Makes the rules from the variables of a deployment. */
export const targetRules = (variables: {
  TEST_CLOCK: 'on' | 'off'
  WEBHOOK_ALLOW: ReadonlySet<string>
}): TargetRules => ({ loopbackAllowed: variables.TEST_CLOCK === 'on', allowed: variables.WEBHOOK_ALLOW })

/** `host:port`, with an IPv6 address in brackets. */
const NAMED = /^(\[[\da-fA-F:.]+\]|[^\s/?#@:\\[\]]+):(\d{1,5})$/

/**
 * Normalizes a target that is permitted by name: the host as `URL` writes it, and the port. Returns null if
 * the text is not `host:port`, with an IPv6 address in brackets.
 */
export function namedTarget(text: string): string | null {
  const [, host, port = ''] = NAMED.exec(text) ?? []
  // `URL` leaves out the default port of `http`, so the port comes from the text.
  const url = host === undefined ? null : URL.parse(`http://${host}:${port}/`)
  return url === null || Number(port) === 0 ? null : `${url.hostname}:${Number(port)}`
}

/** Why a host can't be a target. Loopback hosts are permitted with the test clock. */
type HostError = { loopback: boolean; why: string }

const NEEDS_HTTPS = 'must be an https URL, such as https://example.com/hooks'

/**
 * Checks whether webhooks may be sent to this URL (W1). It is called when the URL is set, and again before
 * each delivery. `URL` parses it exactly as `fetch` does, so no spelling of an address bypasses the check.
 * Names are not resolved: a Worker can't do that.
 */
export function targetOf(given: string, { loopbackAllowed, allowed }: TargetRules): Target {
  const url = URL.parse(given)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return refused(NEEDS_HTTPS)
  if (url.username !== '' || url.password !== '') return refused('must hold no user name and no password')
  const port = url.port || (url.protocol === 'http:' ? '80' : '443')
  if (!allowed?.has(`${url.hostname}:${port}`)) {
    const problem = hostError(url.hostname)
    if (problem !== null && !(problem.loopback && loopbackAllowed))
      return refused(`${problem.why}. The variable WEBHOOK_ALLOW can permit it`)
    // Public hosts need https.
    if (url.protocol === 'http:' && problem === null) return refused(NEEDS_HTTPS)
  }
  // A fragment is never sent.
  url.hash = ''
  if (url.href.length > MOST_URL_CHARACTERS) {
    return refused(`must have at most ${MOST_URL_CHARACTERS} characters once it is percent-encoded`)
  }
  return { url: url.href }
}

const refused = (why: string): Target => ({ refused: why })

/** The problem with a host, or null. The host is as `URL` writes it: one form, in lower-case ASCII. */
function hostError(host: string): HostError | null {
  const ipv6 = /^\[(.*)\]$/.exec(host)?.[1]
  const isIpv4 = /^\d+(\.\d+){3}$/.test(host)
  const kind = ipv6 !== undefined || isIpv4 ? kindOfAddress(ipv6 ?? host) : undefined
  if (kind === undefined) return nameError(host)
  if (kind === null) return null
  return { loopback: kind === 'loopback', why: `must lead to a public address, and ${host} is a ${kind} one` }
}

/** Names that end with these exist only in private networks. */
const PRIVATE_NAMES = ['localhost', 'local', 'internal', 'lan', 'localdomain', 'home.arpa']

function nameError(host: string): HostError | null {
  const name = host.replace(/\.$/, '')
  const labels = name.split('.')
  const isLocal = labels.at(-1) === 'localhost'
  const isPrivate = PRIVATE_NAMES.some((top) => name === top || name.endsWith(`.${top}`))
  const isPublic = labels.length > 1 && !labels.includes('') && !isPrivate
  return isPublic ? null : { loopback: isLocal, why: `must lead to a public host, and ${host} is not public` }
}
