import * as z from 'zod'
import { UserId } from '../api/fields'
import type { App } from '../api/hono'
import { mount } from '../api/mount'
import { created, ok, operation } from '../api/operation'
import { NEXT_LINK } from '../api/queries'
import {
  LeaderboardGroupsQuery,
  LeaderboardGroupsResponse,
  LeaderboardQuery,
  LeaderboardResponseWithRankings,
  LeaderboardsQuery,
  LeaderboardsResponse,
  LiveEvent,
  LiveQuery,
  LiveTicketResponse,
  UserLeaderboardQuery,
  UserLeaderboardResponseWithHistory,
  UserLeaderboardsQuery,
  UserLeaderboardsResponse,
} from '../api/shapes/leaderboards'
import { findUser } from '../store/users/find-user'
import {
  findLeaderboard,
  furtherLiveErrors,
  furtherPageErrors,
  listLeaderboards,
  readGroups,
  readLeaderboard,
  readUserPlace,
  readUserPlaces,
} from './leaderboards'
import { ticketFor, watchLeaderboard } from './live/watch'

export const leaderboardsAll = operation({
  id: 'leaderboards_all',
  surface: 'application',
  method: 'get',
  path: '/leaderboards',
  summary: 'List the active leaderboards',
  query: LeaderboardsQuery,
  responses: { 200: { description: 'The leaderboards, in order of creation.', body: LeaderboardsResponse } },
})

export const leaderboardsGet = operation({
  id: 'leaderboards_get',
  surface: 'application',
  method: 'get',
  path: '/leaderboards/{key}',
  summary: 'Get a leaderboard with a page of its rankings',
  params: z.object({ key: z.string() }),
  query: LeaderboardQuery,
  responses: { 200: { description: 'The page, best first.', body: LeaderboardResponseWithRankings } },
})

/** Not in the contract. */
export const leaderboardsGroups = operation({
  id: 'leaderboards_groups',
  surface: 'application',
  method: 'get',
  path: '/leaderboards/{key}/groups',
  summary: 'List the groups of a leaderboard with breakdown',
  params: z.object({ key: z.string() }),
  query: LeaderboardGroupsQuery,
  responses: {
    200: {
      description:
        'The groups of the run that have ranked users, largest first. Groups of equal size are in order of their values.',
      body: LeaderboardGroupsResponse,
      optionalHeaders: { Link: NEXT_LINK },
    },
  },
})

/** Not in the contract. */
export const leaderboardsLive = operation({
  id: 'leaderboards_live',
  surface: 'application',
  method: 'get',
  path: '/leaderboards/{key}/live',
  summary: 'Watch a leaderboard',
  ticket: true,
  params: z.object({ key: z.string() }),
  query: LiveQuery,
  responses: {
    200: {
      description: 'The events of the stream. This is the shape of the JSON in their `data`.',
      body: LiveEvent,
      isEventStream: true,
    },
  },
})

/** Not in the contract. */
export const liveTickets = operation({
  id: 'live_tickets_create',
  surface: 'application',
  method: 'post',
  path: '/live-tickets',
  summary: 'Get a ticket that opens streams',
  needs: 'read',
  secret: true,
  responses: { 201: { description: 'The ticket.', body: LiveTicketResponse } },
})

/** Not in the contract. */
export const usersAllLeaderboards = operation({
  id: 'users_all_leaderboards',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/leaderboards',
  summary: "Get a user's place on each leaderboard",
  params: z.object({ id: UserId }),
  query: UserLeaderboardsQuery,
  responses: {
    200: {
      description:
        'At most 100 leaderboards, in order of creation. Active ones take precedence over finished ones.',
      body: UserLeaderboardsResponse,
    },
  },
})

export const usersLeaderboard = operation({
  id: 'users_leaderboard',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/leaderboards/{key}',
  summary: "Get a user's place on a leaderboard, and its history",
  params: z.object({ id: UserId, key: z.string() }),
  query: UserLeaderboardQuery,
  responses: {
    200: {
      description: 'The place. Its rank and value are null if the user has no place.',
      body: UserLeaderboardResponseWithHistory,
    },
  },
})

/** Serves the operations of the application interface on leaderboards. */
export function leaderboardRoutes(app: App): void {
  mount(app, leaderboardsAll, {}, async (scope, { query }) => ok(await listLeaderboards(scope, query)))
  mount(
    app,
    leaderboardsGet,
    {
      find: (scope, param) => findLeaderboard(scope, param('key')),
      check: (scope, { query }, found) => furtherPageErrors(scope, found, query),
    },
    async (scope, { query }, found) => ok(await readLeaderboard(scope, found, query)),
  )
  mount(
    app,
    leaderboardsGroups,
    { find: (scope, param) => findLeaderboard(scope, param('key')) },
    async (scope, { query }, found) => {
      const { groups, next } = await readGroups(scope, found, query)
      return { ...ok(groups), ...(next !== null && { headers: { Link: next } }) }
    },
  )
  mount(
    app,
    leaderboardsLive,
    {
      find: (scope, param) => findLeaderboard(scope, param('key')),
      check: (scope, { query }, found) => furtherLiveErrors(scope, found, query),
    },
    async (scope, { query }, found, claim) => ok(await watchLeaderboard(scope, found, query, claim)),
  )
  mount(app, liveTickets, {}, async (scope, _input, _found, claim) => created(await ticketFor(scope, claim)))
  mount(
    app,
    usersAllLeaderboards,
    { subject: (_json, param) => param('id'), find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await readUserPlaces(scope, user, query)),
  )
  mount(
    app,
    usersLeaderboard,
    {
      subject: (_json, param) => param('id'),
      find: async (scope, param) => ({
        user: await findUser(scope, param('id')),
        board: await findLeaderboard(scope, param('key')),
      }),
    },
    async (scope, { query }, { user, board }) => ok(await readUserPlace(scope, board, user, query)),
  )
}
