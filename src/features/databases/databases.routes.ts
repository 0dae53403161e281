import type { App } from '../../api/hono'
import { mountForAccount } from '../../api/mount'
import { accepted, ok, operation } from '../../api/operation'
import type { Jobs } from '../../time/job.types'
import { DatabasesResponse, RebalanceRequest, RebalanceResponse } from './databases.schemas'
import { listDatabases, rebalance } from './databases.service'

export const adminDatabases = operation({
  id: 'admin_databases',
  surface: 'admin',
  account: true,
  method: 'get',
  path: '/databases',
  summary: 'List the databases, with the number of their users and events',
  responses: { 200: { description: 'The databases, the first one first.', body: DatabasesResponse } },
})

export const adminDatabasesRebalance = operation({
  id: 'admin_databases_rebalance',
  surface: 'admin',
  account: true,
  method: 'post',
  path: '/databases/rebalance',
  summary: 'Spread the users over the databases by weight',
  body: RebalanceRequest,
  responses: {
    202: { description: 'The weights are stored. Users move in the background.', body: RebalanceResponse },
  },
})

/** Serves the databases of the account (B3). `jobs` has the work that moves users. */
export const databaseRoutes =
  (jobs: Jobs) =>
  (app: App): void => {
    mountForAccount(app, adminDatabases, {}, async (scope) => ok(await listDatabases(scope)))
    mountForAccount(app, adminDatabasesRebalance, {}, async (scope, { body }) =>
      accepted({ databases: await rebalance(scope, jobs, body.weights ?? {}) }, {}),
    )
  }
