/**
 * Sends a few hundred requests of the fuzzer directly to the app. `npm run fuzz` sends thousands to a server.
 */
import { expect, it, vi } from 'vitest'
import { fuzz, type Send, told } from '../../fuzz/fuzz'
import { PATIENCE } from '../../helpers/patience'
import { START } from '../../helpers/time'
import { ADMIN_KEY, toApp } from '../../helpers/worker/harness'

const DAY = 86_400_000

function requestOf({ method, path, headers, body }: Parameters<Send>[0]): Request | null {
  try {
    return new Request(`http://laurel.test${path}`, { method, headers, ...(body && { body }) })
  } catch {
    // `fetch` does not allow all headers that a socket can send.
    return null
  }
}

const send: Send = async (shot) => {
  const request = requestOf(shot)
  if (request === null) return null
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), PATIENCE))
  const answer = await Promise.race([toApp(request), late])
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

it('[G2, G3] requests made from the OpenAPI documents, also spoiled ones, get documented responses', async () => {
  const errors = vi.spyOn(console, 'error').mockReturnValue()
  const report = await fuzz({
    send,
    adminKey: ADMIN_KEY,
    hasTenants: true,
    requests: 600,
    clients: 4,
    seed: 20_261,
    url: 'http://localhost:8787',
    start: START + DAY,
  })
  expect(
    report.findings.map(({ fault, curls }) => [fault, curls[0]]),
    told(report, 20_261),
  ).toEqual([])
  expect(errors.mock.calls).toEqual([])
  // Most requests can be sent in this way, and many of them succeed.
  expect(report.sent).toBeGreaterThan(550)
  const done = [...report.responses.values()]
    .flatMap((counts) => [...counts])
    .filter(([status]) => status < 300)
  expect(done.reduce((sum, [, times]) => sum + times, 0)).toBeGreaterThan(150)
})
