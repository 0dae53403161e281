import { type Chapter, demo, fieldsOf, resource } from '../api/reference/chapter'
import { CHANGED_ID, CHANGED_KEY, ID, PAIRS, USER_FILTERS } from '../api/reference/common.reference'

const RANK =
  'The rank, from 1. Each rank has one user: of equal scores, the score that was reached first ranks higher, then the smaller user id.'

const SHOWN = {
  ...ID,
  name: 'The display name.',
  key: 'The key.',
  rankBy: 'The basis of the ranking: a metric, points, or the length of the streak.',
  breakdownAttribute: 'The first of `breakdownAttributes`, or `null`. An older spelling.',
  breakdownAttributes:
    'The keys of the user attributes that divide users into groups. Each group has a ranking of its own. Empty: one ranking for all.',
  metricKey: 'The key of the metric that it ranks by.',
  metricName: 'The name of that metric.',
  pointsSystemKey: 'The key of the points system that it ranks by.',
  pointsSystemName: 'The name of that points system.',
  description: 'The description, or `null`.',
  start: 'The first date on which events count, by the local date of each user.',
  end: 'The last date on which events count. `null`: it has no end.',
  startTime: 'The local time of day from which events count, or `null`.',
  endTime: 'The local time of day until which events count, or `null`.',
  maxParticipants: 'The most users that are ranked in each group.',
  runUnit: 'The unit of the length of a run. `null`: the leaderboard never resets.',
  runInterval: 'The number of units that a run lasts, or `null`.',
  status: 'The present status.',
  userAttributes:
    'The user attributes, and their values, that users must have to take part. Empty: all users take part.',
  'userAttributes.key': 'The key of the attribute.',
  'userAttributes.value': 'The value that users must have.',
}

const PLACE = {
  rank: `${RANK} \`null\` if the user is not ranked.`,
  value: 'The score, rounded down. `null` if the user is not ranked.',
}

const CONFIGURED = {
  name: 'The display name.',
  key: 'The key: letters, digits, `_` and `-`.',
  description: 'The description, at most 2,000 characters.',
  status:
    '`inactive`: hidden. `scheduled`: becomes active by itself on its start date. `active`: ranks users. `finished`: over for good, and its rankings are final.',
  rankBy: 'The basis of the ranking: a `metric`, `points`, or the length of the `streak`.',
  metricId: 'With `rankBy: metric`: the id of the metric.',
  metricKey: 'The key of the metric, instead of its id.',
  pointsSystemId: 'With `rankBy: points`: the id of the points system.',
  pointsSystemKey: 'The key of the points system, instead of its id.',
  maxParticipants: 'The most users that are ranked in each group: 1 to 1,000. `null`: 1,000.',
  start: 'The first date on which events count, by the local date of each user. By default today in UTC.',
  end: 'The last date on which events count. Without an end date, it continues until you finish it.',
  startTime: 'The local time of day from which events count, `HH:MM`.',
  endTime:
    'The local time of day until which events count, `HH:MM`. If it is before `startTime`, the window crosses midnight.',
  breakdownAttributeKeys: 'The keys of these attributes, instead of their ids.',
  breakdownAttributes:
    'The ids of up to 10 user attributes that divide users into groups. Each group has a ranking of its own.',
  runUnit: 'The unit of the length of a run. Without it, the leaderboard never resets.',
  runInterval: 'The number of units that a run lasts. For example, 7 days make a weekly leaderboard.',
  ...USER_FILTERS,
}

/** Leaderboards: reading them and configuring them. */
export const leaderboards: Chapter = {
  operations: {
    leaderboards_all: {
      description: 'The active leaderboards, without their rankings, in order of creation.',
      parameters: { includeFinished: 'Whether finished leaderboards are listed too.' },
    },
    leaderboards_get: {
      description:
        'A leaderboard with a page of the rankings of one run. If scores are equal, the user who reached the score first ranks higher, then the user with the smaller id. With `userId` the page begins at the place of that user, and is empty if the user is not ranked. A leaderboard with breakdown attributes needs `userAttributes`. An application key sees the ids and names of all users in the rankings.',
      parameters: {
        offset:
          'The start of the page: the number of places after rank 1 or, with `userId`, after the place of that user. With `userId` it may be negative: the page then starts that many places before the user, but not before rank 1.',
        limit:
          'The number of places on the page. The default is 10, or `maxParticipants` if that is less. More than `maxParticipants` gets 422.',
        run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the run of today.',
        userId: 'Starts the page at the place of this user. The page is empty if the user is not ranked.',
        userAttributes: `The group to read. If it names only some of the breakdown attributes, all groups that match are ranked together. ${PAIRS}`,
      },
      example: { query: { limit: 10 } },
    },
    leaderboards_groups: {
      description:
        'The groups of a leaderboard with breakdown that have ranked users in one run, largest first. Groups of the same size are in order of their values. If there are more groups, the header `Link` has the address of the next page. At most the 10,000 largest groups are listed. If more than 10,000 users have a score in the run, the counts may be up to a minute old. The status is 422 for a leaderboard without breakdown.',
      parameters: {
        limit: 'The most groups on the page. The default is 10.',
        run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the run of today.',
      },
      example: { path: { key: 'demo-minutes-by-plan' } },
    },
    leaderboards_live: {
      description:
        'Watches the first places of a leaderboard, as a stream of server-sent events (`text/event-stream`). The event `ranking` comes first, and again after each change of these places, at most once a second. It always has all of them. The stream shows the run of today, in UTC, and moves on with it. The event `finished` has the final ranking of a run that has become final. The `id` of an event is its version. A comment comes every 25 seconds. The stream ends after at most 15 minutes, and within a minute after the end of its key, user, tenant or leaderboard; then connect again. A client that reads nothing for half a minute is disconnected. `EventSource` can send no headers: give it a ticket in the query. The status is 503, with `Retry-After`, if too many clients watch this leaderboard or those of the tenant, and 429 if the application key, or the user of the token, has 20 open streams.',
      parameters: {
        limit: 'The number of places to watch. The default is 10.',
        userAttributes: `The group to watch. If it names only some of the breakdown attributes, all groups that match are ranked together. ${PAIRS}`,
        ticket: 'A ticket from `POST /v1/live-tickets`, instead of the header `X-API-KEY`.',
      },
      example: { query: { limit: 3 } },
    },
    live_tickets_create:
      'Makes a ticket that opens streams for 60 seconds, also more than once, in the place of the key of this request. It is good for nothing else. A key with the scope `read` can get one too. Get a new one for each connection. Without the variable `TOKEN_SECRET`, the status is 422.',
    users_all_leaderboards: {
      description:
        'The place of the user on each leaderboard, in the run of today by the local date of the user. Each item equals the response of the operation for that single leaderboard. The list has at most 100 leaderboards: all active ones and, if asked for, the newest finished ones. A leaderboard that does not respond within three seconds is left out.',
      parameters: {
        includeFinished: 'Whether finished leaderboards are included.',
        numEvents: 'The number of entries in each history.',
      },
    },
    users_leaderboard: {
      description:
        'The rank and score of a user in one run of a leaderboard, and the days on which they changed. Rank and score are `null` if the user is not ranked, or does not have the `userAttributes` of the leaderboard.',
      parameters: {
        run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the run of today, by the local date of the user.',
        numEvents: 'The number of entries in the history.',
      },
    },
    ...resource({
      id: 'admin_leaderboards',
      one: 'leaderboard',
      many: 'leaderboards',
      about: 'A leaderboard ranks users by a metric, by points or by the length of their streaks.',
      create: {
        note: 'It is inactive unless `status` says otherwise. A leaderboard that becomes active counts all activity since its start date.',
        body: [
          {
            key: 'demo-minutes-today',
            name: 'Minutes today',
            rankBy: 'metric',
            metricId: demo('metrics', 'demo-minutes'),
            runUnit: 'day',
            runInterval: 1,
            maxParticipants: 100,
            status: 'active',
          },
        ],
      },
      update: {
        note: 'The ranking basis, the key, the start, the daily window, the runs, the breakdown and `userAttributes` can be changed only while the leaderboard is inactive.',
        body: [{ id: demo('leaderboards', 'demo-weekly-xp'), name: 'XP this week' }],
      },
      delete: { note: 'Its rankings are deleted at once.', id: demo('leaderboards', 'demo-sprint') },
    }),
  },
  fields: [
    fieldsOf(
      [
        'LeaderboardResponse',
        'LeaderboardResponseWithRankings',
        'UserLeaderboardResponse',
        'UserLeaderboardResponseWithHistory',
        'WebhookLeaderboardResponse',
        'WebhookUserLeaderboardResponse',
        'MetricEventLeaderboardResponse',
      ],
      { ...SHOWN, ...PLACE },
    ),
    fieldsOf(['LeaderboardResponseWithRankings', 'WebhookLeaderboardResponse'], {
      rankings: 'The places of the page, best first. In webhooks, the first ten. Empty if no user is ranked.',
    }),
    fieldsOf(['LeaderboardResponseWithRankings'], {
      run: 'The run of this page, by the local days of the user who asks: the user of the key. With an admin key it is the user in `userId`, or UTC without one.',
      'run.key': 'The first date of the run. `run` in the query takes it.',
      'run.startsAt': 'The moment at which the first date of the run begins for this user.',
      'run.endsAt':
        'The moment at which the last date of the run is over for this user. `null`: the run has no end.',
    }),
    fieldsOf(['LiveRanking', 'LiveFinished'], {
      version:
        'A number that grows with each event. An event with a smaller one than you have seen is older.',
      run: 'The first date of the run. `null` if the leaderboard never resets.',
      status: 'The present status.',
      rankings: 'All places that are watched, best first.',
    }),
    fieldsOf(['LiveTicketResponse'], {
      ticket: 'The ticket, for the query parameter `ticket` of a stream.',
      expires: 'When it opens no more streams. Open streams go on.',
    }),
    fieldsOf(
      ['LeaderboardResponseWithRankings', 'WebhookLeaderboardResponse', 'WebhookUserLeaderboardResponse'],
      {
        group:
          'The group that this is about: the values of the breakdown attributes, in their order. Missing on a leaderboard without breakdown, on a page of several groups, and in the webhook about the end of a run without ranked users.',
      },
    ),
    fieldsOf(['LeaderboardGroup'], {
      group: 'The values of the breakdown attributes, in the order of the breakdown.',
      userAttributes: 'The same as `group`, as the query of a page names it.',
      'userAttributes.key': 'The key of the breakdown attribute.',
      'userAttributes.value': 'The value that the users of the group have.',
      users: 'The number of ranked users in the group.',
    }),
    fieldsOf(
      [
        'LeaderboardResponseWithRankings',
        'WebhookLeaderboardResponse',
        'WebhookUserLeaderboardResponse',
        'LeaderboardGroup',
      ],
      {
        'group.key': 'The key of the breakdown attribute.',
        'group.value': 'The value that the users of the group have.',
      },
    ),
    fieldsOf(['UserLeaderboardResponseWithHistory'], {
      history: 'The days on which rank or score changed, oldest first.',
    }),
    fieldsOf(['WebhookUserLeaderboardResponse'], {
      previousRank: 'The rank in the last webhook. `null` if the user was not ranked.',
      previousValue: 'The score in the last webhook. `null` if the user was not ranked.',
    }),
    fieldsOf(['MetricEventLeaderboardResponse'], {
      start: 'The first date of the run.',
      end: 'The last date of the run. `null`: it has no end.',
      previousRank: 'The rank before this event. `null` if the user was not ranked.',
      threshold:
        'The last score of a full ranking. Other users must exceed it to be ranked. 0 while the ranking is not full.',
      breakdownAttributeValue: 'The first of `breakdownAttributeValues`. An older spelling.',
      breakdownAttributeValues: 'The group of the user. Only present with a breakdown.',
      'breakdownAttributeValues.key': 'The key of the breakdown attribute.',
      'breakdownAttributeValues.value': 'The value that the user has.',
    }),
    fieldsOf(['LeaderboardRanking'], {
      userId: 'The id of the user.',
      userName: 'The display name of the user, or `null`.',
      rank: RANK,
      value: 'The score, rounded down.',
    }),
    fieldsOf(['LeaderboardEvent'], {
      date: 'The UTC date.',
      timestamp: 'The same date as a moment, at 00:00 UTC.',
      rank: 'The rank at the end of that date. `null` if the user was not ranked.',
      previousRank: 'The rank in the previous entry.',
      value: 'The score at the end of that date. `null` if the user was not ranked.',
      previousValue: 'The score in the previous entry.',
    }),
    fieldsOf(['CreateLeaderboardRequestItem', 'AdminLeaderboard'], { ...ID, ...CONFIGURED }),
    fieldsOf(['UpdateLeaderboardRequestItem'], {
      ...CONFIGURED,
      ...CHANGED_ID,
      ...CHANGED_KEY,
      end: 'The last date on which events count. `null` removes it.',
      startTime: 'The local time of day from which events count, `HH:MM`. `null` removes it.',
      endTime: 'The local time of day until which events count, `HH:MM`. `null` removes it.',
      runUnit: 'The unit of the length of a run. `null`: the leaderboard never resets.',
    }),
  ],
}
