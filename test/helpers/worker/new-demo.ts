import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { newInstance } from '../../../src/configuration/configuration'
import { newContext } from '../../../src/platform/context'
import { wakeAll } from '../../../src/time/timekeeper'
import { enterDemo, loadDemo } from '../../../src/worker/demo-load'
import { JOBS } from '../../../src/worker/jobs'
import { present } from '../time'
import { deleteData } from './delete-data'
import { ADMIN_KEY, call, newApp, type Send } from './harness'

/**
 * A service with the demo and no other data, whose test clock shows `now` if it is given (ISO 8601).
 *
 * The versions of the configuration begin again, so the demo is loaded with a memory of its own,
 * and then gets a version that the memory of the Worker does not know.
 */
export async function newDemo(now?: string): Promise<Send> {
  await deleteData()
  const bindings = { DEMO: 'on', MULTI_TENANCY: 'off' }
  const instance = newInstance()
  const send = newApp(bindings, instance)
  if (now !== undefined) {
    const answer = await call(newApp({ ...bindings, DEMO: 'off' }, instance), 'PUT', '/admin/v1/test-clock', {
      headers: { 'x-api-key': ADMIN_KEY },
      body: { now },
    })
    expect(answer.status).toBe(200)
  }
  const ctx = createExecutionContext()
  const context = newContext(instance, { ...env, ...bindings }, (work) => ctx.waitUntil(work))
  await wakeAll(context, JOBS)
  await loadDemo(await enterDemo(context))
  await waitOnExecutionContext(ctx)
  await env.DB.prepare('UPDATE tenants SET config_version = ?1').bind(present()).run()
  return send
}
