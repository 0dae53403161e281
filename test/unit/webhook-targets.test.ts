import { describe, expect, it } from 'vitest'
import { namedTarget, type Target, targetOf, whyNoAnswer } from '../../src/lib/net'
import { words } from '../helpers/words'

const isRefused = (target: Target) => 'refused' in target

// test/worker/webhooks.test.ts has every spelling of allowed and refused targets, as the Workers run time reads it.
describe('[W1] allowed targets', () => {
  it('WEBHOOK_ALLOW permits exactly its hosts and ports, by https and http', () => {
    const entries = words`nas.LAN:8080 10.1:80 [FD00::0:1]:443 localhost:3000 Example.com:80`
    const allowed = new Set(entries.map((entry) => namedTarget(entry) ?? ''))
    const judge = (url: string) => targetOf(url, { loopbackAllowed: false, allowed })
    for (const url of words`
      http://nas.lan:8080/a?b https://nas.lan:8080/ http://10.0.0.1/ https://10.0.0.1:80/
      http://0xa000001:80/ https://[fd00::1]/ http://[fd00:0::1]:443/ http://localhost:3000/
      http://example.com/
    `)
      expect(judge(url)).toEqual({ url: new URL(url).href })
    for (const url of words`
      http://nas.lan/ https://nas.lan/ http://nas.lan:80800/ http://a.nas.lan:8080/ http://nas.lan.:8080/
      https://10.0.0.1/ http://10.0.0.2/ http://[fd00::1]/ http://[fd00::2]:443/ http://localhost:3001/
      http://example.com:8080/ http://user@nas.lan:8080/ ftp://nas.lan:8080/
    `)
      expect(isRefused(judge(url)), url).toBe(true)
  })

  it('each entry of WEBHOOK_ALLOW has a port, and IPv6 addresses have brackets', () => {
    expect(namedTarget('NAS.lan:080')).toBe('nas.lan:80')
    expect(namedTarget('0x7f.1:3000')).toBe('127.0.0.1:3000')
    expect(namedTarget('[::0:1]:3000')).toBe('[::1]:3000')
    for (const text of [
      ...['', 'na s:80'],
      ...words`
        :80 nas.lan nas.lan: nas.lan:0 nas.lan:65536 nas.lan:http nas.lan:80/hooks http://nas.lan:80
        user@nas.lan:80 nas.lan:80:80 ::1:3000 [::1] [::1:3000 [::g]:3000 256.1.1.1:80
      `,
    ])
      expect(namedTarget(text), text).toBeNull()
  })
})

describe('[W4] a request without an answer', () => {
  const failed = (code: string) => new Error('internal error; reference = 0a1b', { cause: { code } })

  it.each([
    ['ENOTFOUND', 'the name of the host was not found'],
    ['EAI_AGAIN', 'the name of the host could not be looked up'],
    ['EPRIVATE', 'the host leads to a private address, which only WEBHOOK_ALLOW can permit'],
    ['ECONNREFUSED', 'the connection was refused'],
    ['ECONNRESET', 'the connection was closed'],
    ['ETIMEDOUT', 'the host cannot be reached'],
    ['EHOSTUNREACH', 'the host cannot be reached'],
    ['CERT_HAS_EXPIRED', 'the certificate has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is for another host'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate is not valid, or its issuer is not known'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'the certificate is not valid, or its issuer is not known'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed'],
    ['ENOENT', 'there is no file that SSL_CERT_FILE names'],
  ])('says what %s means, and names the code', (code, reason) => {
    expect(whyNoAnswer(failed(code))).toBe(`${reason} (${code})`)
  })

  it('keeps the text of the platform if there is no such code, without the URL', () => {
    expect(whyNoAnswer(new Error('Network connection lost.'))).toBe('Network connection lost.')
    const named = new Error('can not load https://example.com/very-secret now')
    expect(whyNoAnswer(named)).toBe('can not load the URL now')
    expect(whyNoAnswer(failed('EUNKNOWN'))).toBe('internal error; reference = 0a1b')
  })
})
