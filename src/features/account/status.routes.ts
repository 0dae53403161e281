import type { App } from '../../api/hono'
import { mountForAccount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import type { Jobs } from '../../time/job.types'
import { SessionResponse, StatusResponse } from './status.schemas'
import { readSession, readStatus } from './status.service'

export const adminStatus = operation({
  id: 'admin_status',
  surface: 'admin',
  account: true,
  method: 'get',
  path: '/status',
  summary: 'Get the state of the service: databases, due work, queues',
  responses: { 200: { description: 'The state as of now.', body: StatusResponse } },
})

export const adminSessionGet = operation({
  id: 'admin_session_get',
  surface: 'admin',
  account: true,
  method: 'get',
  path: '/session',
  summary: 'Check an admin key, and get what is switched on in this deployment',
  responses: { 200: { description: 'The key is valid.', body: SessionResponse } },
})

/**
 * Serves the state of the service (G12), and the features for a key (G13). `jobs` are all kinds of work that
 * can be due.
 */
export const statusRoutes =
  (jobs: Jobs) =>
  (app: App): void => {
    mountForAccount(app, adminStatus, {}, async (scope) => ok(await readStatus(scope, jobs)))
    mountForAccount(app, adminSessionGet, {}, async (scope) => ok(readSession(scope)))
  }
