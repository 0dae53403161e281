import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/** What an address is for, where that is not the public internet; the word stands in messages. */
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
 * What is not for everybody's use: IANA's registries of special IPv4 and IPv6 addresses, and 224.0.0.0/3. The first range that fits tells. The
 * library has a list of its own, which also refuses public addresses that have a special purpose, such as those of AS112.
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

/** Where IPv6 addresses of the public internet are; all else is reserved. */
const GLOBAL = ipaddr.parseCIDR('2000::/3')
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')
const SIX_TO_FOUR = ipaddr.parseCIDR('2002::/16')

/** What an IPv4 address, as `URL` writes it, is for; null if it is public. */
export function kindOfIpv4(address: string): AddressKind | null {
  return kindOf(ipaddr.IPv4.parse(address))
}

/** What an IPv6 address, as `URL` writes it (without brackets), is for; null if it is public. IPv4 addresses inside count. */
export function kindOfIpv6(text: string): AddressKind | null {
  const address = ipaddr.IPv6.parse(text)
  // The same machine by another family.
  if (address.isIPv4MappedAddress()) return kindOf(address.toIPv4Address())
  const bytes = address.toByteArray()
  // Through somebody's gateway, whose loopback is not ours.
  if (address.match(NAT64)) return tunnelled(bytes.slice(12))
  if (address.match(SIX_TO_FOUR)) return tunnelled(bytes.slice(2, 6))
  return kindOf(address) ?? (address.match(GLOBAL) ? null : 'reserved')
}

/**
 * The part of an address that one customer of an access provider has: all of an IPv4 address, and the /64 network of an IPv6 address. In
 * whatever way an address is written, the answer is the same; an IPv4 address inside an IPv6 one counts as IPv4. What is no IPv6 address
 * is returned as it is.
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
