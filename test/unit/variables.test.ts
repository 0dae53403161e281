import { exportPKCS8, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { serverVariables, VARIABLES, variableErrors } from '../../src/platform/env'

const SWITCH = 'must be on or off.'
const SECONDS = 'must be a whole number from 1 to 300.'
const DAYS = 'must be a whole number from 1 to 3650.'
const URL_ERROR = 'must be an address that begins with http:// or https://.'
const SPACE =
  'must have no white space at its ends, and in it no line ends, control characters or names such as $NAME.'
const QUOTES = 'must not be in quotes, which would be a part of it.'
const PATH = 'must be the text itself, not the path of a file.'
const HEADER = 'must consist of printable ASCII characters without spaces.'
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

const WRONG: Record<string, readonly (readonly [readonly string[], string])[]> = {
  ADMIN_API_KEY: [
    [['x'.repeat(31), `${ADMIN_KEY} ${ADMIN_KEY}`, `${ADMIN_KEY}é`], KEY],
    [
      [`${ADMIN_KEY}\n`, ` ${ADMIN_KEY}`, `${ADMIN_KEY}\n${ADMIN_KEY}`, `${ADMIN_KEY}\r`, '$ADMIN_API_KEY'],
      SPACE,
    ],
    [[`"${ADMIN_KEY}"`, `'${ADMIN_KEY}'`], QUOTES],
    [['/run/secrets/laurel_admin_api_key', '/Users/ada/keys/admin-key-of-laurel.txt'], PATH],
  ],
  TOKEN_SECRET: [
    [['x'.repeat(31)], SECRET],
    [[`${BASE64}\n`, `${BASE64}\0`, `${BASE64}\ufffd`], SPACE],
    [[`"${BASE64}"`], QUOTES],
    [['/run/secrets/THE_TOKEN_SECRET_OF_LAUREL', '/the-token-secret-of-laurel-in-one-file'], PATH],
  ],
  TOKEN_SECRET_PREVIOUS: [[['secret'], SECRET]],
  ADMIN_HOST: [
    [
      [
        ...['https://admin.example.com', 'admin.example.com/', 'admin.example.com:443', 'a.example.com:80'],
        ...['a.example.com,b.example.com', '*.example.com', 'ädmin.example.com', 'admin.example.com.', 'a:b'],
      ],
      HOST,
    ],
    [['"admin.example.com"'], QUOTES],
  ],
  ENVIRONMENT: [[['pre production', 'staging.eu', 'prüfung'], 'must consist of letters, digits, _ and -.']],
  MULTI_TENANCY: [[['yes', 'ON'], SWITCH]],
  TEST_CLOCK: [[['1'], SWITCH]],
  RATE_LIMITS: [[['true'], SWITCH]],
  DEMO: [[['no'], SWITCH]],
  WEBHOOK_TIMEOUT: [
    [['0', '301', '1.5', 'x', '1e2'], SECONDS],
    [[' ', '30 '], SPACE],
  ],
  BODY_TIMEOUT: [[['-1', '1e9', '30s'], SECONDS]],
  DELIVERY_LOG_DAYS: [[['0', '3651', '0.5', 'ever'], DAYS]],
  BATCH_LOG_DAYS: [[['0', '3651', '0.5', 'ever'], DAYS]],
  WEBHOOK_ALLOW: [
    [
      ['nas.lan', 'nas.lan:8080,', '*', 'http://nas.lan:8080'],
      'must be host:port, or several of them separated by commas, with IPv6 addresses in brackets.',
    ],
  ],
  PUBLIC_URL: [
    [['laurel.example.com', 'ftp://laurel.example.com'], URL_ERROR],
    [
      ['https://example.com/laurel', 'https://example.com/?x', 'https://example.com/#x'],
      'must have no path: Laurel needs a host of its own.',
    ],
    [['https://laurel.example.com\n', `https://\${DOMAIN}`], SPACE],
  ],
  EMAIL_FROM: [
    [
      ['Ada', 'a@', '@b', 'Ada a@b', 'a@b>', 'Ada <a@b', '<a@b> Ada', 'a@b,c@d', 'mailto:a@b', 'a@b@c'],
      SENDER,
    ],
    [['Ada <a@b>\nBcc: c@d'], SPACE],
    [['"Ada <a@b>"'], QUOTES],
  ],
  RESEND_API_KEY: [
    [['re_1 2', 're_é'], HEADER],
    [['"re_1"'], QUOTES],
    [['/etc/laurel/resend', './Resend.key', '~/resend', 'file:///Resend', 'C:\\resend'], PATH],
  ],
  RESEND_URL: [[['x'], URL_ERROR]],
  EXPO_ACCESS_TOKEN: [
    [['a b'], HEADER],
    [['/run/secrets/expo'], PATH],
  ],
  EXPO_URL: [[['x'], URL_ERROR]],
  APNS_KEY: [
    [['x', apple.slice(0, 60), google, apple.replace('BEGIN', 'BEGUN')], P8],
    [[`"${apple.replaceAll('\n', '\\n')}"`], QUOTES],
    [['/etc/laurel/AuthKey_ABC1234567.p8', '/etc/key.p8', './key.p8'], PATH],
  ],
  APNS_KEY_ID: [[['ABC123', 'abc1234567'], APPLE_ID]],
  APNS_TEAM_ID: [[['com.example.app'], APPLE_ID]],
  APNS_TOPIC: [[['com example'], HEADER]],
  APNS_URL: [[['x'], URL_ERROR]],
  FCM_SERVICE_ACCOUNT: [
    [
      ['{}', '{', 'laurel@p.iam.example', account({ private_key: apple }), account({ token_uri: 'x' })],
      ACCOUNT,
    ],
    [[`'${account()}'`], QUOTES],
    [['/etc/laurel/account.json'], PATH],
  ],
  FCM_URL: [[['x'], URL_ERROR]],
  PORT: [[['0', '65536', 'http', '-1', '80.5', '1e3'], 'must be a whole number from 1 to 65535.']],
  DATABASES: [
    [['0', '101', '-1', '1.5', '3x', 'three', '1e2'], 'must be a whole number from 1 to 100.'],
    [[' 3'], SPACE],
  ],
  HOST: [[['"0.0.0.0"'], QUOTES]],
  LAUREL_DATA: [
    [["'/var/lib/laurel'"], QUOTES],
    [['~/data', '$HOME/data'], 'must not begin with ~ or $.'],
  ],
  TRUST_PROXY: [
    [
      [
        ...[
          'true',
          '1',
          'yes',
          'loopback',
          'nginx',
          '127.0.0.1',
          '10.0.0.0/8',
          'a b',
          'Forwarded',
          'Host',
          'Via',
        ],
        ...[
          'User-Agent',
          'X-Forwarded-Proto',
          'X-Forwarded-Host',
          'X-Forwarded-Client-Cert',
          'Authorization',
        ],
        ...[
          'Content-Type',
          'Accept-Language',
          'X-Request-Id',
          'X-API-KEY',
          'Tenant-ID',
          'CF-Ray',
          'X-Original-URL',
        ],
        ...['X-Forwarded-For,', 'X-Forwarded-For:'],
      ],
      PROXY,
    ],
  ],
}

const RIGHT: Record<string, readonly string[]> = {
  ADMIN_API_KEY: [ADMIN_KEY, 'adm_mine.Only$For-"tests"-of-npm-start'],
  TOKEN_SECRET: [BASE64, 'a secret of several words and of umlauts: ü'],
  ADMIN_HOST: [
    'admin.example.com',
    'ADMIN.example.com:8443',
    'localhost:8787',
    '[::1]:8787',
    '192.0.2.1',
    'my_host',
  ],
  PUBLIC_URL: ['https://laurel.example.com', 'https://laurel.example.com/', 'http://localhost:8787'],
  EMAIL_FROM: [
    'a@b',
    'Name <a@b>',
    '"Ada, B." <a@b.example>',
    '<a@b>',
    "o'brien+x@b.example",
    'Łukasz <a@b>',
  ],
  RESEND_API_KEY: ['re_1'],
  RESEND_URL: ['https://proxy.example.com/resend'],
  APNS_KEY: [apple, `${apple}\n`, apple.replaceAll('\n', '\\n')],
  APNS_KEY_ID: ['ABC1234567'],
  FCM_SERVICE_ACCOUNT: [account(), `${account()}\n`, JSON.stringify(JSON.parse(account()), null, 2)],
  HOST: ['::', '[::1]', 'localhost'],
  LAUREL_DATA: ['/var/lib/laurel', './data'],
  TRUST_PROXY: [
    ...['X-Forwarded-For', 'x-real-ip', 'CF-Connecting-IP', 'True-Client-IP', 'Fly-Client-IP', 'X-My-Client'],
    ...['X-Visitor-Source', 'X-Envoy-External-Address', 'X-Client-IP', 'X-Azure-ClientIP', 'Proxy-Client-IP'],
    ...['X-Original-Forwarded-For', 'CF-Connecting-IPv6', 'Remote-Addr', 'ClientIP', 'X-Cluster-Client-IP'],
  ],
}

const cases = (values: Record<string, readonly string[]>) =>
  Object.entries(values).flatMap(([name, all]) => all.map((value) => [name, value] as const))

describe('[K4, W1] variables', () => {
  it('a wrong one has one error, which names it and does not repeat its value', async () => {
    for (const [name, faults] of Object.entries(WRONG)) {
      for (const [values, fault] of faults)
        for (const value of values)
          expect([value, await variableErrors({ [name]: value })]).toEqual([value, [`${name} ${fault}`]])
      expect(await variableErrors({ [name]: '' })).toEqual([])
    }
  })

  it('each of several wrong ones has its error, and each variable of the Worker has a wrong value here', async () => {
    const all = Object.fromEntries(
      Object.entries(WRONG).map(([name, [fault]]) => [name, fault?.[0][0] ?? '']),
    )
    expect(await variableErrors(all)).toHaveLength(Object.keys(WRONG).length)
    expect(VARIABLES.filter((name) => !(name in WRONG))).toEqual([])
  })

  it.each(cases(RIGHT))('%s can be %j', async (name, value) => {
    expect(await variableErrors({ [name]: value })).toEqual([])
  })

  it('[B3] the server has defaults for its own', () => {
    expect(serverVariables({ PORT: '' })).toEqual({
      ...{ PORT: 8787, DATABASES: 1, HOST: '127.0.0.1', LAUREL_DATA: 'data' },
    })
    expect(['1', '3', '100'].map((DATABASES) => serverVariables({ DATABASES }).DATABASES)).toEqual([
      1, 3, 100,
    ])
  })
})
