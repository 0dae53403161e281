import { MOST_URL_CHARACTERS } from '../limits'
import { kindOfIpv4, kindOfIpv6 } from './addresses'

/**
 * The URL of a permitted target, or the reason why it is refused. Messages show the reason after the field's
 * name.
 */
export type Target = { url: string } | { refused: string }

/** The targets that a deployment permits in addition to public https targets. */
export type TargetRules = {
  /** Whether loopback targets are permitted: only with the test clock. */
  loopbackAllowed: boolean
  /** Targets that are permitted by name, over http too, in the form that `namedTarget` returns. */
  allowed?: ReadonlySet<string>
}

/** Makes the rules from the variables of a deployment. */
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
  if (given.length > MOST_URL_CHARACTERS)
    return refused(`must have at most ${MOST_URL_CHARACTERS} characters`)
  const url = URL.parse(given)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return refused(NEEDS_HTTPS)
  if (url.username !== '' || url.password !== '') return refused('must hold no user name and no password')
  const port = url.port || (url.protocol === 'http:' ? '80' : '443')
  if (!allowed?.has(`${url.hostname}:${port}`)) {
    const problem = hostError(url.hostname)
    if (problem !== null && !(problem.loopback && loopbackAllowed)) return refused(problem.why)
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

/**
 * The problem with a host, or null. The host is as `URL` writes it: addresses have one form, and names are in
 * lower-case ASCII.
 */
function hostError(host: string): HostError | null {
  const ipv6 = /^\[(.*)\]$/.exec(host)?.[1]
  const isIpv4 = /^\d+(\.\d+){3}$/.test(host)
  const kind = ipv6 !== undefined ? kindOfIpv6(ipv6) : isIpv4 ? kindOfIpv4(host) : undefined
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
