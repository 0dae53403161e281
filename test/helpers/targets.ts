/**
 * URLs of webhooks in all spellings, and the expected result (W1). The tests try them in the Workers runtime,
 * which reads URLs itself.
 */
import { words } from './words'

const long = (length: number) => `https://example.com/${'a'.repeat(length - 'https://example.com/'.length)}`

/** URLs that are stored and called as they are given. */
const AS_GIVEN = words`
  https://example.com/hooks?a=1 https://example.com:8443/ https://example.com./
  https://localhost.example.com/ https://local.example/ https://notlocal.example/ https://a.my-local/
  https://internal.example/ https://lan.example/ https://my-lan.example.vlan/ https://home.arpa.example/
  https://myhome.arpa/ https://10.example.com/ https://127.0.0.1.example.com/
  https://example.com/?next=http://127.0.0.1/ https://012.0.0.0.example.com/
`
/** The same of public addresses, up to the edges of the private ranges. */
const PUBLIC = words`
  https://8.8.8.8/ https://1.0.0.0/ https://9.255.255.255/ https://11.0.0.0/ https://100.63.255.255/
  https://100.128.0.0/ https://126.255.255.255/ https://128.0.0.0/ https://169.253.255.255/
  https://169.255.0.0/ https://172.15.255.255/ https://172.32.0.0/ https://192.0.1.0/ https://192.0.3.0/
  https://192.167.255.255/ https://192.169.0.0/ https://198.17.255.255/ https://198.20.0.0/
  https://223.255.255.255/ https://[2606:4700::1111]/ https://[2001:200::]/ https://[2001:db7:ffff::1]/
  https://[2001:db9::]/ https://[2003::]/ https://[3ffe::]/ https://[3fff:1000::]/
  https://[2002:808:808::1]/
`

/** The given URL, and the URL that is stored and called. */
export const ALLOWED: readonly [given: string, url: string][] = [
  ...[...AS_GIVEN, ...PUBLIC, long(2_048)].map((url): [string, string] => [url, url]),
  ['https://example.com', 'https://example.com/'],
  ['https://example.com/hooks#part', 'https://example.com/hooks'],
  ['https://example.com/hooks?a=1#', 'https://example.com/hooks?a=1'],
  ['HTTPS://Example.COM:443/Hooks', 'https://example.com/Hooks'],
  ['  https://example.com/\n', 'https://example.com/'],
  ['https:example.com', 'https://example.com/'],
  ['https:\\\\example.com\\a', 'https://example.com/a'],
  ['https://@example.com/', 'https://example.com/'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ['https://134744072/', 'https://8.8.8.8/'],
  ['https://0x08080808/', 'https://8.8.8.8/'],
  ['https://1.1/', 'https://1.0.0.1/'],
  ['https://[::ffff:8.8.8.8]/', 'https://[::ffff:808:808]/'],
  ['https://[64:ff9b::8.8.8.8]/', 'https://[64:ff9b::808:808]/'],
  [`https://example.com/#${'😀'.repeat(2_000)}`, 'https://example.com/'],
]

/**
 * Targets on this machine. With the test clock they are allowed, also with http. Without it they are refused.
 */
export const LOOPBACK: readonly string[] = words`
  localhost LOCALHOST localhost. app.localhost a.b.localhost. ｌｏｃａｌｈｏｓｔ loc%61lhost 127.0.0.1 127.0.0.1.
  127.0.0.0 127.255.255.255 127.1 127.0.1 2130706433 2130706433. 0x7f000001 0X7F.1 0x7f.0x0.0x0.0x1
  017700000001 0177.0.0.1 00000177.0.0.01 0177.0x1 １２７.0.0.1 127。0。0。1 %31%32%37.0.0.1 [::1]
  [0:0:0:0:0:0:0:1] [0000:0000::0001] [::0.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [0:0:0:0:0:FFFF:127.1.2.3]
`

const NAMES = words`
  intranet intranet. local internal. printer.local printer.LOCAL. db.internal a.b.internal. ｄｂ.ｉｎｔｅｒｎａｌ
  db。internal lan nas.lan NAS.Lan. router.localdomain localhost.localdomain home.arpa home.arpa.
  printer.home.arpa a.b.HOME.arpa. example..com example.com.. localhost.. 1.2..
`
/** Each range from end to end. */
const IPV4 = words`
  0.0.0.0 0.0.0.0. 0 0x0 0.255.255.255 10.0.0.0 10.255.255.255 10.1 167772161 0xa000001 012.0.0.1 0xa.0.0.1
  100.64.0.0 100.127.255.255 169.254.0.0 169.254.169.254 169.254.255.255 2852039166 0xa9fea9fe
  0251.0376.0251.0376 172.16.0.0 172.31.255.255 0xac.0x10.1 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255
  192.88.99.1 192.168.0.0 192.168.255.255 192.168.1 3232235777 0300.0250.0.1 198.18.0.0 198.19.255.255
  198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.254
  255.255.255.255 4294967295 0xffffffff 037777777777
`
const IPV6 = words`
  [::] [::2] [0:0:0:0:0:0:0:0] [::10.0.0.1] [::127.0.0.1] [::8.8.8.8] [::ffff:10.0.0.1] [::FFFF:A00:1]
  [::ffff:0.0.0.0] [::ffff:169.254.169.254] [::ffff:255.255.255.255] [::ffff:0:8.8.8.8] [64:ff9b::10.0.0.1]
  [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1] [100::1] [1fff:ffff::] [2001::1]
  [2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:2::1] [2001:20::1] [2001:1ff:ffff::] [2001:db8::1]
  [2001:db8:ffff:ffff:ffff:ffff:ffff:ffff] [2002:a00:1::] [2002:7f00:1::1] [2002:c0a8:101::1]
  [2002:a9fe:a9fe::] [3fff::1] [3fff:fff:ffff::] [4000::] [5f00::1] [fc00::] [fd12:3456:789a::1]
  [fdff:ffff::1] [fe80::1] [FE80::1] [febf::1] [fec0::1] [feff::1] [ff00::] [ff02::1]
  [ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]
`
/** Hosts that are refused, also with the test clock. */
export const HOSTS_REFUSED: readonly string[] = [...NAMES, ...IPV4, ...IPV6]

/** Whole URLs that are refused, also with the test clock. */
export const REFUSED: readonly string[] = [
  ...words`
    example.com example.com:443 //example.com/ /hooks https https:// https:/// https://example.com:99999/
    https://[::1/ https://[fe80::1%25eth0]/ https://1.2.3.4.5/ https://256.256.256.256/ https://4294967296/
    https://09.1.1.1/ https://127.0.0.1.1/ http://example.com/ http://8.8.8.8/ http://[2606:4700::1111]/
    http:/example.com/ ftp://example.com/ ftp://localhost/ ws://example.com/ wss://example.com/
    file:///etc/passwd file://localhost/etc/passwd javascript:alert(1) data:text/plain,x
    blob:https://example.com/018f0000-0000-7000-8000-000000000000 about:blank httpss://example.com/
    https://user:password@example.com/ https://user@example.com/ https://:password@example.com/
    https://example.com@10.0.0.1/ https://8.8.8.8%5c@10.0.0.1/ http://user@localhost/
  `,
  ...['', ' ', 'https://exa mple.com/'],
  long(2_049),
  // The percent-encoded form is longer.
  `https://example.com/${'é'.repeat(400)}`,
]
