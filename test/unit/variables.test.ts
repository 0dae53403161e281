import { exportPKCS8, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { serverVariables, VARIABLES, variableErrors } from '../../src/platform/env'
import { words } from '../helpers/words'

const SWITCH = 'must be on or off.'
const upTo = (most: number) => `must be a whole number from 1 to ${most}.`
const [SECONDS, DAYS] = [upTo(300), upTo(3650)]
const URL_ERROR = 'must be an address that begins with http:// or https://.'
const SPACE =
  'must have no white space at its ends, and in it no line ends, control characters or names such as $NAME.'
const QUOTES = 'must not be in quotes, which would be a part of it.'
const PATH = 'must be the text itself, not the path of a file.'
const HEADER = 'must consist of printable ASCII characters without spaces.'
const NAME = 'must consist of letters, digits, _ and -.'
const TARGETS = 'must be host:port, or several of them separated by commas, with IPv6 addresses in brackets.'
const NO_PATH = 'must have no path: Laurel needs a host of its own.'
const KEY =
  'must have at least 32 characters, all of them printable ASCII without spaces. If you leave it out, npm start makes one, and npm run serve takes only keys that were created before.'
const SECRET = 'must have at least 32 characters.'
const HOST =
  'must be a host, such as admin.example.com, without https:// and path, and with a port only if that is neither 80 nor 443.'
const SENDER = 'must be an email address, such as ada@example.com or Ada <ada@example.com>.'
const APPLE_ID = 'must be the 10 capital letters and digits that Apple shows.'
const P8 = 'must be the text of a .p8 file.'
const ACCOUNT = 'must be the JSON of a service account, with its private key.'
const PROXY =
  'must be the name of the header in which the proxy sends the address of the client, such as X-Forwarded-For, X-Real-IP or CF-Connecting-IP.'

const ADMIN_KEY = 'adm_unit.the-key-of-the-tests-and-of-nothing-else'
/** Begins like a path, as one of 64 secrets in base64 does. */
const BASE64 = '/Jc9+2x/aVq0mYgS1kD5uE8rN3hTzWfLb7oPcXiKsGM='

const p8 = async (algorithm: string) => {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return exportPKCS8(privateKey)
}
const [apple, google] = await Promise.all([p8('ES256'), p8('RS256')])
const account = (more: object = {}) =>
  JSON.stringify({ client_email: 'a@b.example', project_id: 'p', private_key: google, ...more })

/** Wrong values of each variable, by their faults. */
const WRONG: Record<string, Record<string, readonly string[]>> = {
  ADMIN_API_KEY: {
    [KEY]: ['x'.repeat(31), `${ADMIN_KEY} ${ADMIN_KEY}`, `${ADMIN_KEY}é`],
    [SPACE]: [
      ...[`${ADMIN_KEY}\n`, ` ${ADMIN_KEY}`, `${ADMIN_KEY}\n${ADMIN_KEY}`, `${ADMIN_KEY}\r`],
      '$ADMIN_API_KEY',
    ],
    [QUOTES]: [`"${ADMIN_KEY}"`, `'${ADMIN_KEY}'`],
    [PATH]: ['/run/secrets/laurel_admin_api_key', '/Users/ada/keys/admin-key-of-laurel.txt'],
  },
  TOKEN_SECRET: {
    [SECRET]: ['x'.repeat(31)],
    [SPACE]: [`${BASE64}\n`, `${BASE64}\0`, `${BASE64}\ufffd`],
    [QUOTES]: [`"${BASE64}"`],
    [PATH]: ['/run/secrets/THE_TOKEN_SECRET_OF_LAUREL', '/the-token-secret-of-laurel-in-one-file'],
  },
  TOKEN_SECRET_PREVIOUS: { [SECRET]: ['secret'] },
  ADMIN_HOST: {
    [HOST]: words`
      https://admin.example.com admin.example.com/ admin.example.com:443 a.example.com:80 *.example.com
      a.example.com,b.example.com ädmin.example.com admin.example.com. a:b
    `,
    [QUOTES]: ['"admin.example.com"'],
  },
  ENVIRONMENT: { [NAME]: ['pre production', 'staging.eu', 'prüfung'] },
  MULTI_TENANCY: { [SWITCH]: ['yes', 'ON'] },
  TEST_CLOCK: { [SWITCH]: ['1'] },
  RATE_LIMITS: { [SWITCH]: ['true'] },
  DEMO: { [SWITCH]: ['no'] },
  WEBHOOK_TIMEOUT: { [SECONDS]: ['0', '301', '1.5', 'x', '1e2'], [SPACE]: [' ', '30 '] },
  BODY_TIMEOUT: { [SECONDS]: ['-1', '1e9', '30s'] },
  DELIVERY_LOG_DAYS: { [DAYS]: ['0', '3651', '0.5', 'ever'] },
  BATCH_LOG_DAYS: { [DAYS]: ['0', '3651', '0.5', 'ever'] },
  WEBHOOK_ALLOW: { [TARGETS]: ['nas.lan', 'nas.lan:8080,', '*', 'http://nas.lan:8080'] },
  PUBLIC_URL: {
    [URL_ERROR]: ['laurel.example.com', 'ftp://laurel.example.com'],
    [NO_PATH]: ['https://example.com/laurel', 'https://example.com/?x', 'https://example.com/#x'],
    [SPACE]: ['https://laurel.example.com\n', `https://\${DOMAIN}`],
  },
  EMAIL_FROM: {
    [SENDER]: [
      ...['Ada', 'a@', '@b', 'Ada a@b', 'a@b>', 'Ada <a@b', '<a@b> Ada', 'a@b,c@d', 'mailto:a@b', 'a@b@c'],
    ],
    [SPACE]: ['Ada <a@b>\nBcc: c@d'],
    [QUOTES]: ['"Ada <a@b>"'],
  },
  RESEND_API_KEY: {
    [HEADER]: ['re_1 2', 're_é'],
    [QUOTES]: ['"re_1"'],
    [PATH]: ['/etc/laurel/resend', './Resend.key', '~/resend', 'file:///Resend', 'C:\\resend'],
  },
  RESEND_URL: { [URL_ERROR]: ['x'] },
  EXPO_ACCESS_TOKEN: { [HEADER]: ['a b'], [PATH]: ['/run/secrets/expo'] },
  EXPO_URL: { [URL_ERROR]: ['x'] },
  APNS_KEY: {
    [P8]: ['x', apple.slice(0, 60), google, apple.replace('BEGIN', 'BEGUN')],
    [QUOTES]: [`"${apple.replaceAll('\n', '\\n')}"`],
    [PATH]: ['/etc/laurel/AuthKey_ABC1234567.p8', '/etc/key.p8', './key.p8'],
  },
  APNS_KEY_ID: { [APPLE_ID]: ['ABC123', 'abc1234567'] },
  APNS_TEAM_ID: { [APPLE_ID]: ['com.example.app'] },
  APNS_TOPIC: { [HEADER]: ['com example'] },
  APNS_URL: { [URL_ERROR]: ['x'] },
  FCM_SERVICE_ACCOUNT: {
    [ACCOUNT]: [
      ...['{}', '{', 'laurel@p.iam.example', account({ private_key: apple }), account({ token_uri: 'x' })],
    ],
    [QUOTES]: [`'${account()}'`],
    [PATH]: ['/etc/laurel/account.json'],
  },
  FCM_URL: { [URL_ERROR]: ['x'] },
  PORT: { [upTo(65_535)]: ['0', '65536', 'http', '-1', '80.5', '1e3'] },
  DATABASES: { [upTo(100)]: ['0', '101', '-1', '1.5', '3x', 'three', '1e2'], [SPACE]: [' 3'] },
  HOST: { [QUOTES]: ['"0.0.0.0"'] },
  LAUREL_DATA: {
    [QUOTES]: ["'/var/lib/laurel'"],
    'must not begin with ~ or $.': ['~/data', '$HOME/data'],
  },
  TRUST_PROXY: {
    [PROXY]: [
      'a b',
      ...words`
        true 1 yes loopback nginx 127.0.0.1 10.0.0.0/8 Forwarded Host Via User-Agent X-Forwarded-Proto
        X-Forwarded-Host X-Forwarded-Client-Cert Authorization Content-Type Accept-Language X-Request-Id
        X-API-KEY Tenant-ID CF-Ray X-Original-URL X-Forwarded-For, X-Forwarded-For:
      `,
    ],
  },
}

const RIGHT: Record<string, readonly string[]> = {
  ADMIN_API_KEY: [ADMIN_KEY, 'adm_mine.Only$For-"tests"-of-npm-start'],
  TOKEN_SECRET: [BASE64, 'a secret of several words and of umlauts: ü'],
  ADMIN_HOST: words`
    admin.example.com ADMIN.example.com:8443 localhost:8787 [::1]:8787 192.0.2.1 my_host
  `,
  PUBLIC_URL: ['https://laurel.example.com', 'https://laurel.example.com/', 'http://localhost:8787'],
  EMAIL_FROM: [
    ...['a@b', 'Name <a@b>', '"Ada, B." <a@b.example>', '<a@b>', "o'brien+x@b.example", 'Łukasz <a@b>'],
  ],
  RESEND_API_KEY: ['re_1'],
  RESEND_URL: ['https://proxy.example.com/resend'],
  APNS_KEY: [apple, `${apple}\n`, apple.replaceAll('\n', '\\n')],
  APNS_KEY_ID: ['ABC1234567'],
  FCM_SERVICE_ACCOUNT: [account(), `${account()}\n`, JSON.stringify(JSON.parse(account()), null, 2)],
  HOST: ['::', '[::1]', 'localhost'],
  LAUREL_DATA: ['/var/lib/laurel', './data'],
  TRUST_PROXY: words`
    X-Forwarded-For x-real-ip CF-Connecting-IP True-Client-IP Fly-Client-IP X-My-Client X-Visitor-Source
    X-Envoy-External-Address X-Client-IP X-Azure-ClientIP Proxy-Client-IP X-Original-Forwarded-For
    CF-Connecting-IPv6 Remote-Addr ClientIP X-Cluster-Client-IP
  `,
}

const cases = (values: Record<string, readonly string[]>) =>
  Object.entries(values).flatMap(([name, all]) => all.map((value) => [name, value] as const))

describe('[K4, W1] variables', () => {
  it('a wrong one has one error, which names it and does not repeat its value', async () => {
    for (const [name, faults] of Object.entries(WRONG)) {
      for (const [fault, values] of Object.entries(faults))
        for (const value of values)
          expect(await variableErrors({ [name]: value }), value).toEqual([`${name} ${fault}`])
      expect(await variableErrors({ [name]: '' })).toEqual([])
    }
  })

  it('each of several wrong ones has its error, and each variable of the Worker has a wrong value here', async () => {
    const all = Object.fromEntries(
      Object.entries(WRONG).map(([name, faults]) => [name, Object.values(faults)[0]?.[0] ?? '']),
    )
    expect(await variableErrors(all)).toHaveLength(Object.keys(WRONG).length)
    expect(VARIABLES.filter((name) => !(name in WRONG))).toEqual([])
  })

  it.each(cases(RIGHT))('%s can be %j', async (name, value) => {
    expect(await variableErrors({ [name]: value })).toEqual([])
  })

  it('[B3] the server has defaults for its own', () => {
    const own = { PORT: 8787, DATABASES: 1, HOST: '127.0.0.1', LAUREL_DATA: 'data' }
    expect(serverVariables({ PORT: '' })).toEqual(own)
    for (const DATABASES of ['1', '3', '100'])
      expect(serverVariables({ DATABASES }).DATABASES).toBe(Number(DATABASES))
  })
})
