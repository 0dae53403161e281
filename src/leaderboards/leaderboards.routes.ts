import * as z from 'zod'
import { created, endpointsOf, ok } from '../api/endpoint'
import { UserId } from '../api/fields'
import { pageResponse } from '../api/queries'
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
import { findUser } from '../store/users/users.sql.ts'
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

const endpoint = endpointsOf('application')

export const leaderboardEndpoints = [
  endpoint(
    'GET /leaderboards',
    {
      id: 'leaderboards_all',
      summary: 'List the active leaderboards',
      query: LeaderboardsQuery,
      responses: {
        200: { description: 'The leaderboards, in order of creation.', body: LeaderboardsResponse },
      },
    },
    async (scope, { query }) => ok(await listLeaderboards(scope, query)),
  ),
  endpoint(
    'GET /leaderboards/{key}',
    {
      id: 'leaderboards_get',
      summary: 'Get a leaderboard with a page of its rankings',
      params: z.object({ key: z.string() }),
      query: LeaderboardQuery,
      responses: { 200: { description: 'The page, best first.', body: LeaderboardResponseWithRankings } },
    },
    {
      find: (scope, param) => findLeaderboard(scope, param('key')),
      check: (scope, { query }, found) => furtherPageErrors(scope, found, query),
    },
    async (scope, { query }, found) => ok(await readLeaderboard(scope, found, query)),
  ),
  /** Not in the contract. */
  endpoint(
    'GET /leaderboards/{key}/groups',
    {
      id: 'leaderboards_groups',
      summary: 'List the groups of a leaderboard with breakdown',
      params: z.object({ key: z.string() }),
      query: LeaderboardGroupsQuery,
      responses: {
        200: pageResponse(
          'The groups of the run that have ranked users, largest first. Groups of equal size are in order of their values.',
          LeaderboardGroupsResponse,
        ),
      },
    },
    { find: (scope, param) => findLeaderboard(scope, param('key')) },
    (scope, { query }, found) => readGroups(scope, found, query),
  ),
  /** Not in the contract. */
  endpoint(
    'GET /leaderboards/{key}/live',
    {
      id: 'leaderboards_live',
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
    },
    {
      find: (scope, param) => findLeaderboard(scope, param('key')),
      check: (scope, { query }, found) => furtherLiveErrors(scope, found, query),
    },
    async (scope, { query }, found, claim) => ok(await watchLeaderboard(scope, found, query, claim)),
  ),
  /** Not in the contract. */
  endpoint(
    'POST /live-tickets',
    {
      id: 'live_tickets_create',
      summary: 'Get a ticket that opens streams',
      needs: 'read',
      secret: true,
      responses: { 201: { description: 'The ticket.', body: LiveTicketResponse } },
    },
    async (scope, _input, _found, claim) => created(await ticketFor(scope, claim)),
  ),
  /** Not in the contract. */
  endpoint(
    'GET /users/{id}/leaderboards',
    {
      id: 'users_all_leaderboards',
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
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await readUserPlaces(scope, user, query)),
  ),
  endpoint(
    'GET /users/{id}/leaderboards/{key}',
    {
      id: 'users_leaderboard',
      summary: "Get a user's place on a leaderboard, and its history",
      params: z.object({ id: UserId, key: z.string() }),
      query: UserLeaderboardQuery,
      responses: {
        200: {
          description: 'The place. Its rank and value are null if the user has no place.',
          body: UserLeaderboardResponseWithHistory,
        },
      },
    },
    {
      find: async (scope, param) => ({
        user: await findUser(scope, param('id')),
        board: await findLeaderboard(scope, param('key')),
      }),
    },
    async (scope, { query }, { user, board }) => ok(await readUserPlace(scope, board, user, query)),
  ),
]
