import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/** The purpose of an address that is not public. Messages contain this word. */
export type AddressKind =
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

/** The kind of an IPv4 address in the form that `URL` writes; null if it is public. */
export function kindOfIpv4(address: string): AddressKind | null {
  return kindOf(ipaddr.IPv4.parse(address))
}

/**
 * The kind of an IPv6 address in the form that `URL` writes, without brackets; null if it is public. An IPv4
 * address inside it decides.
 */
export function kindOfIpv6(text: string): AddressKind | null {
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

function tunnelled(bytes: number[]): AddressKind | null {
  return kindOf(new ipaddr.IPv4(bytes)) === null ? null : 'reserved'
}
