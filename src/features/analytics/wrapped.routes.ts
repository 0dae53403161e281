import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { findUser } from '../../store/find-user.service'
import { WrappedQuery, WrappedResponse } from './wrapped.schemas'
import { readWrapped } from './wrapped.service'

export const usersWrapped = operation({
  id: 'users_wrapped',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/wrapped',
  summary: "Sum up a user's year",
  params: z.object({ id: UserId }),
  query: WrappedQuery,
  responses: { 200: { description: 'The year.', body: WrappedResponse } },
})

/** Serves users' years. */
export function wrappedRoutes(app: App): void {
  mount(
    app,
    usersWrapped,
    { subject: (_json, param) => param('id'), find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await readWrapped(scope, user, query.year)),
  )
}
