import { kindOfIpv4, kindOfIpv6 } from '../../shared/addresses'

/** The most characters of a target, as it was given and as it is called. */
export const TARGET_MAX = 2_048

/** A target as it may be called, or why it may not, to be read after the field's name. */
export type Target = { url: string } | { refused: string }

/** What keeps a host from being a target; a loopback one may be one under the test clock. */
type HostFault = { loopback: boolean; why: string }

const NEEDS_HTTPS = 'must be an https URL, such as https://example.com/hooks'

/**
 * Whether webhooks may be sent to this URL, to be asked when it is set and again when something is sent there (W1). `URL` reads it
 * as `fetch` does, so that no spelling of an address is another one to us. Names are not resolved: a Worker can't.
 */
export function targetOf(given: string, { loopbackAllowed }: { loopbackAllowed: boolean }): Target {
  if (given.length > TARGET_MAX) return refused(`must have at most ${TARGET_MAX} characters`)
  const url = URL.parse(given)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return refused(NEEDS_HTTPS)
  if (url.username !== '' || url.password !== '') return refused('must hold no user name and no password')
  const fault = hostFault(url.hostname)
  if (fault !== null && !(fault.loopback && loopbackAllowed)) return refused(fault.why)
  // In the clear only to this very machine.
  if (url.protocol === 'http:' && fault === null) return refused(NEEDS_HTTPS)
  // A fragment is never sent.
  url.hash = ''
  if (url.href.length > TARGET_MAX) {
    return refused(`must have at most ${TARGET_MAX} characters once it is percent-encoded`)
  }
  return { url: url.href }
}

const refused = (why: string): Target => ({ refused: why })

/** What is wrong with a host as `URL` writes it: addresses are in one form, names in ASCII and lower case. Null where nothing is. */
function hostFault(host: string): HostFault | null {
  const ipv6 = /^\[(.*)\]$/.exec(host)?.[1]
  const isIpv4 = /^\d+(\.\d+){3}$/.test(host)
  const kind = ipv6 !== undefined ? kindOfIpv6(ipv6) : isIpv4 ? kindOfIpv4(host) : undefined
  if (kind === undefined) return nameFault(host)
  if (kind === null) return null
  return { loopback: kind === 'loopback', why: `must lead to a public address, and ${host} is a ${kind} one` }
}

function nameFault(host: string): HostFault | null {
  const labels = host.replace(/\.$/, '').split('.')
  const top = labels.at(-1) ?? ''
  const isLocal = top === 'localhost'
  const isPublic =
    labels.length > 1 && !labels.includes('') && !['localhost', 'local', 'internal'].includes(top)
  return isPublic ? null : { loopback: isLocal, why: `must lead to a public host, and ${host} is none` }
}
