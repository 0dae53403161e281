import { kindOfIpv4, kindOfIpv6 } from './addresses'

/** The most characters of a target, as it was given and as it is called. */
export const TARGET_MAX = 2_048

/** A target as it may be called, or why it may not, to be read after the field's name. */
export type Target = { url: string } | { refused: string }

/** What a deployment permits besides public https targets. */
export type TargetRules = {
  /** Whether this machine may be a target: under the test clock. */
  loopbackAllowed: boolean
  /** Targets that are permitted by name, by http too, as `namedTarget` writes them. */
  allowed?: ReadonlySet<string>
}

/** The rules that the variables of a deployment make. */
export const targetRules = ({
  TEST_CLOCK,
  WEBHOOK_ALLOW,
}: {
  TEST_CLOCK: 'on' | 'off'
  WEBHOOK_ALLOW: ReadonlySet<string>
}): TargetRules => ({
  loopbackAllowed: TEST_CLOCK === 'on',
  allowed: WEBHOOK_ALLOW,
})

/** `host:port`, with an IPv6 address in brackets. */
const NAMED = /^(\[[\da-fA-F:.]+\]|[^\s/?#@:\\[\]]+):(\d{1,5})$/

/**
 * A target that is permitted by name, in one spelling: the host as `URL` writes it, and the port. Null if it is not `host:port`, with
 * an IPv6 address in brackets.
 */
export function namedTarget(text: string): string | null {
  const [, host, port = ''] = NAMED.exec(text) ?? []
  // Of the scheme `http`, whose default port `URL` leaves out.
  const url = host === undefined ? null : URL.parse(`http://${host}:${port}/`)
  return url === null || Number(port) === 0 ? null : `${url.hostname}:${Number(port)}`
}

/** What keeps a host from being a target; a loopback one may be one under the test clock. */
type HostError = { loopback: boolean; why: string }

const NEEDS_HTTPS = 'must be an https URL, such as https://example.com/hooks'

/**
 * Whether webhooks may be sent to this URL, to be asked when it is set and again when something is sent there (W1). `URL` reads it
 * as `fetch` does, so that no spelling of an address is another one to us. Names are not resolved: a Worker can't.
 */
export function targetOf(given: string, { loopbackAllowed, allowed }: TargetRules): Target {
  if (given.length > TARGET_MAX) return refused(`must have at most ${TARGET_MAX} characters`)
  const url = URL.parse(given)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return refused(NEEDS_HTTPS)
  if (url.username !== '' || url.password !== '') return refused('must hold no user name and no password')
  const port = url.port || (url.protocol === 'http:' ? '80' : '443')
  if (!allowed?.has(`${url.hostname}:${port}`)) {
    const fieldError = hostError(url.hostname)
    if (fieldError !== null && !(fieldError.loopback && loopbackAllowed)) return refused(fieldError.why)
    // In the clear only to this very machine.
    if (url.protocol === 'http:' && fieldError === null) return refused(NEEDS_HTTPS)
  }
  // A fragment is never sent.
  url.hash = ''
  if (url.href.length > TARGET_MAX) {
    return refused(`must have at most ${TARGET_MAX} characters once it is percent-encoded`)
  }
  return { url: url.href }
}

const refused = (why: string): Target => ({ refused: why })

/** What is wrong with a host as `URL` writes it: addresses are in one form, names in ASCII and lower case. Null where nothing is. */
function hostError(host: string): HostError | null {
  const ipv6 = /^\[(.*)\]$/.exec(host)?.[1]
  const isIpv4 = /^\d+(\.\d+){3}$/.test(host)
  const kind = ipv6 !== undefined ? kindOfIpv6(ipv6) : isIpv4 ? kindOfIpv4(host) : undefined
  if (kind === undefined) return nameError(host)
  if (kind === null) return null
  return { loopback: kind === 'loopback', why: `must lead to a public address, and ${host} is a ${kind} one` }
}

/** Names under these are given within a private network. */
const PRIVATE_NAMES = ['localhost', 'local', 'internal', 'lan', 'localdomain', 'home.arpa']

function nameError(host: string): HostError | null {
  const name = host.replace(/\.$/, '')
  const labels = name.split('.')
  const isLocal = labels.at(-1) === 'localhost'
  const isPrivate = PRIVATE_NAMES.some((top) => name === top || name.endsWith(`.${top}`))
  const isPublic = labels.length > 1 && !labels.includes('') && !isPrivate
  return isPublic ? null : { loopback: isLocal, why: `must lead to a public host, and ${host} is none` }
}
