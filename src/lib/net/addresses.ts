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

/** A range: an address in it, how many leading bits count, and what it is for. The first that fits tells. */
type Range = readonly [base: bigint, prefix: number, kind: AddressKind]

const range4 = (base: string, prefix: number, kind: AddressKind): Range => [ipv4(base), prefix, kind]
const range6 = (base: string, prefix: number, kind: AddressKind): Range => [ipv6(base), prefix, kind]

/** What IANA's registry of special IPv4 addresses has not for everybody's use, and 224.0.0.0/3. */
const IPV4: readonly Range[] = [
  range4('0.0.0.0', 8, 'reserved'),
  range4('10.0.0.0', 8, 'private'),
  range4('100.64.0.0', 10, 'shared'),
  range4('127.0.0.0', 8, 'loopback'),
  range4('169.254.0.0', 16, 'link-local'),
  range4('172.16.0.0', 12, 'private'),
  range4('192.0.0.0', 24, 'reserved'),
  range4('192.0.2.0', 24, 'documentation'),
  range4('192.88.99.0', 24, 'reserved'),
  range4('192.168.0.0', 16, 'private'),
  range4('198.18.0.0', 15, 'reserved'),
  range4('198.51.100.0', 24, 'documentation'),
  range4('203.0.113.0', 24, 'documentation'),
  range4('224.0.0.0', 4, 'multicast'),
  range4('255.255.255.255', 32, 'broadcast'),
  range4('240.0.0.0', 4, 'reserved'),
]

const IPV6: readonly Range[] = [
  range6('::1', 128, 'loopback'),
  range6('fe80::', 10, 'link-local'),
  range6('fec0::', 10, 'private'),
  range6('fc00::', 7, 'unique-local'),
  range6('ff00::', 8, 'multicast'),
  range6('2001:db8::', 32, 'documentation'),
  range6('3fff::', 20, 'documentation'),
  // Protocol assignments: Teredo, benchmarks, overlays.
  range6('2001::', 23, 'reserved'),
]

/** Where IPv6 addresses of the public internet are; all else is reserved. */
const GLOBAL: Range = range6('2000::', 3, 'reserved')
const MAPPED: Range = range6('::ffff:0:0', 96, 'reserved')
const NAT64: Range = range6('64:ff9b::', 96, 'reserved')
const SIX_TO_FOUR: Range = range6('2002::', 16, 'reserved')

/** What an IPv4 address, as `URL` writes it, is for; null where it is public. */
export function kindOfIpv4(address: string): AddressKind | null {
  return kindOf4(ipv4(address))
}

/** What an IPv6 address, as `URL` writes it (without brackets), is for; null where it is public. IPv4 addresses inside count. */
export function kindOfIpv6(address: string): AddressKind | null {
  const value = ipv6(address)
  // The same machine by another family.
  if (isIn(value, MAPPED, 128)) return kindOf4(low32(value))
  // Through somebody's gateway, whose loopback is not ours.
  if (isIn(value, NAT64, 128)) return tunnelled(low32(value))
  if (isIn(value, SIX_TO_FOUR, 128)) return tunnelled(low32(value >> 80n))
  const kind = IPV6.find((range) => isIn(value, range, 128))?.[2]
  return kind ?? (isIn(value, GLOBAL, 128) ? null : 'reserved')
}

/**
 * The part of an address that one customer of an access provider has: all of an IPv4 address, and the /64 network of an IPv6 address. In
 * whatever way an address is written, the answer is the same; an IPv4 address inside an IPv6 one counts as IPv4. What is no IPv6 address
 * is returned as it is.
 */
export function networkOf(address: string): string {
  const host = URL.parse(`http://[${address}]`)?.hostname
  if (host === undefined) return address
  const value = ipv6(host.slice(1, -1))
  if (isIn(value, MAPPED, 128))
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  return `${(value >> 64n).toString(16)}::/64`
}

const kindOf4 = (value: bigint) => IPV4.find((range) => isIn(value, range, 32))?.[2] ?? null

function tunnelled(value: bigint): AddressKind | null {
  return kindOf4(value) === null ? null : 'reserved'
}

const low32 = (value: bigint) => value & 0xffff_ffffn

function isIn(value: bigint, [base, prefix]: Range, bits: number): boolean {
  const rest = BigInt(bits - prefix)
  return value >> rest === base >> rest
}

function ipv4(text: string): bigint {
  return text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

/** Reads the form that `URL` writes: groups in hexadecimal, `::` at most once, no dots. */
function ipv6(text: string): bigint {
  const [head = [], tail = []] = text.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return BigInt(`0x${[...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join('')}`)
}
