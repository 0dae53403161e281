import { expect, it } from 'vitest'
import { variableErrors } from '../../src/platform/env'

const SWITCH = 'must be on or off.'
const SECONDS = 'must be a whole number from 1 to 300.'
const DAYS = 'must be a whole number from 1 to 3650.'
const ADDRESS = 'must be an address that begins with http:// or https://.'

const WRONG = {
  ADMIN_API_KEY: [
    ['x'.repeat(31)],
    'must have at least 32 characters. If you leave it out, npm start makes one, and npm run serve takes only keys that were created before.',
  ],
  TOKEN_SECRET: [['x'.repeat(31)], 'must have at least 32 characters.'],
  TOKEN_SECRET_PREVIOUS: [['secret'], 'must have at least 32 characters.'],
  ENVIRONMENT: [['pre production', 'staging.eu', 'prüfung'], 'must consist of letters, digits, _ and -.'],
  MULTI_TENANCY: [['yes', 'ON'], SWITCH],
  TEST_CLOCK: [['1'], SWITCH],
  RATE_LIMITS: [['true'], SWITCH],
  DEMO: [['no'], SWITCH],
  WEBHOOK_TIMEOUT: [['0', '301', '1.5', 'x', ' '], SECONDS],
  BODY_TIMEOUT: [['-1', '1e9', '30s'], SECONDS],
  DELIVERY_LOG_DAYS: [['0', '3651', '0.5', 'ever'], DAYS],
  BATCH_LOG_DAYS: [['0', '3651', '0.5', 'ever'], DAYS],
  WEBHOOK_ALLOW: [
    ['nas.lan', 'nas.lan:8080,', '*', 'http://nas.lan:8080'],
    'must be host:port, or several of them separated by commas, with IPv6 addresses in brackets.',
  ],
  PUBLIC_URL: [['laurel.example.com', 'ftp://laurel.example.com'], ADDRESS],
  RESEND_URL: [['x'], ADDRESS],
  EXPO_URL: [['x'], ADDRESS],
  APNS_URL: [['x'], ADDRESS],
  FCM_URL: [['x'], ADDRESS],
} as const

it('[K4, W1] a wrong variable has one error, which names it and does not repeat its value', () => {
  for (const [name, [values, fault]] of Object.entries(WRONG)) {
    for (const value of values) expect(variableErrors({ [name]: value })).toEqual([`${name} ${fault}`])
    expect(variableErrors({ [name]: '' })).toEqual([])
  }
  const all = Object.fromEntries(Object.entries(WRONG).map(([name, [[value]]]) => [name, value]))
  expect(variableErrors(all)).toHaveLength(Object.keys(WRONG).length)
})
