import { base64url, CompactSign, SignJWT } from 'jose'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { openToken, signToken } from '../../src/access/credentials'
import { instant } from '../../src/lib/clock'

const OLD = { TOKEN_SECRET: 'o'.repeat(32) }
const NEW = { TOKEN_SECRET: 'n'.repeat(43) }
const BOTH = { ...NEW, TOKEN_SECRET_PREVIOUS: OLD.TOKEN_SECRET }
const Claims = z.object({ name: z.string() })
const NOW = instant(Date.parse('2031-05-06T07:08:09.250Z'))

const sign = (secrets: Parameters<typeof signToken>[0] = NEW, purpose: 'user' | 'live' = 'user') =>
  signToken(secrets, purpose, { name: 'ada' }, { now: NOW, ttl: 60 })
const open = (token: string, secrets: Parameters<typeof signToken>[0] = NEW) =>
  openToken(secrets, 'user', Claims, token)

function partsOf(token: string) {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const decode = (part: string) => Object(JSON.parse(new TextDecoder().decode(base64url.decode(part))))
  return { header: decode(header), payload: decode(payload), signature }
}

it('[K6] a token names its secret, its purpose and its end, and opens to its claims', async () => {
  const { token, expires } = await sign()
  expect(new Date(expires).toISOString()).toBe('2031-05-06T07:09:10.000Z')
  const { header, payload } = partsOf(token)
  expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: expect.stringMatching(/^[0-9a-f]{16}$/) })
  const iat = Math.floor(NOW / 1000)
  expect(payload).toEqual({ name: 'ada', aud: 'laurel:user', iat, exp: expires / 1000 })
  expect(await open(token)).toEqual({ claims: { name: 'ada' }, expires })
  expect(partsOf((await sign(OLD)).token).header.kid).not.toBe(header.kid)
})

it('[K6] a token of the previous secret is valid, and new ones are signed with the current one', async () => {
  const old = await sign(OLD)
  expect(await open(old.token, BOTH)).toEqual({ claims: { name: 'ada' }, expires: old.expires })
  expect(await open(old.token, { TOKEN_SECRET_PREVIOUS: OLD.TOKEN_SECRET })).not.toBeNull()
  expect(await open(old.token, NEW)).toBeNull()
  expect(await open(old.token, {})).toBeNull()
  expect((await sign(BOTH)).token).toBe((await sign(NEW)).token)
})

it('[K6] a token of one purpose is not valid for another one', async () => {
  const { token } = await sign(NEW, 'live')
  expect(await open(token)).toBeNull()
  expect(await openToken(NEW, 'live', Claims, token)).not.toBeNull()
})

it('[K6] without a secret, no token can be made, and the error says what to set', async () => {
  await expect(sign({})).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('TOKEN_SECRET'),
  })
  await expect(sign({ TOKEN_SECRET_PREVIOUS: OLD.TOKEN_SECRET })).rejects.toMatchObject({ status: 422 })
})

it('[K6] anything else than a token that Laurel has signed is null', async () => {
  const { token } = await sign()
  const { header, payload, signature } = partsOf(token)
  const [encodedHeader = '', encodedPayload = ''] = token.split('.')
  const encode = (part: unknown) => base64url.encode(JSON.stringify(part))
  const key = new TextEncoder().encode(NEW.TOKEN_SECRET)
  const resign = (head: object, body: object, by: Uint8Array = key) =>
    new SignJWT({ ...body }).setProtectedHeader({ ...header, ...head }).sign(by)
  const forged: Record<string, string> = {
    nothing: '',
    dots: '..',
    'no signature': `${encodedHeader}.${encodedPayload}.`,
    'a part more': `${token}.x`,
    'alg none': `${encode({ ...header, alg: 'none' })}.${encodedPayload}.${signature}`,
    'alg none, unsigned': `${encode({ ...header, alg: 'none' })}.${encodedPayload}.`,
    'alg RS256': `${encode({ ...header, alg: 'RS256' })}.${encodedPayload}.${signature}`,
    'alg HS512': await resign({ alg: 'HS512' }, payload),
    'a key in the header': await resign({ jwk: { kty: 'oct', k: 'AAAA' } }, payload, new Uint8Array(40)),
    'other claims': `${encodedHeader}.${encode({ ...payload, name: 'grace' })}.${signature}`,
    'a later end': `${encodedHeader}.${encode({ ...payload, exp: payload.exp + 1 })}.${signature}`,
    'another kid': await resign({ kid: '0'.repeat(16) }, payload),
    'no kid': await resign({ kid: undefined }, payload),
    'a kid that is no text': `${encode({ ...header, kid: 1 })}.${encodedPayload}.${signature}`,
    'another secret under this kid': await resign({}, payload, new TextEncoder().encode(OLD.TOKEN_SECRET)),
    'another HMAC': await resign({ alg: 'HS512' }, payload, new TextEncoder().encode('x'.repeat(64))),
    'no end': await resign({}, { ...payload, exp: undefined }),
    'an end that is no number': await resign({}, { ...payload, exp: 'never' }),
    'no audience': await resign({}, { ...payload, aud: undefined }),
    'several audiences': await resign({}, { ...payload, aud: ['laurel:user', 'laurel:live'] }),
    'other claims than the schema has': await resign({}, { ...payload, name: 7 }),
    'a payload that is no JSON': await new CompactSign(new TextEncoder().encode('ada'))
      .setProtectedHeader(header)
      .sign(key),
    'a header that is no JSON': `${base64url.encode('ada')}.${encodedPayload}.${signature}`,
    'an unknown critical header': `${encode({ ...header, crit: ['exp'], exp: 1 })}.${encodedPayload}.${signature}`,
    'very long': `${encodedHeader}.${encodedPayload}.${'A'.repeat(100_000)}`,
    spaces: ` ${token}`,
  }
  // The last letter of a signature has two spare bits: other spellings of the same bytes are no tokens.
  const last = token.at(-1)
  for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
    if (letter !== last) forged[`the last letter ${letter}`] = token.slice(0, -1) + letter
  for (const [name, text] of Object.entries(forged)) expect(await open(text), name).toBeNull()
  expect(await open(token)).not.toBeNull()
})

it('[K6] a token for the longest user id is short enough to be read', async () => {
  const name = '\u0001'.repeat(255)
  const { token } = await signToken(NEW, 'user', { name, more: 'x'.repeat(150) }, { now: NOW, ttl: 60 })
  expect(await open(token)).toMatchObject({ claims: { name } })
})
