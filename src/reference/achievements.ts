import { type Chapter, demo, resource } from './chapter'
import { BADGE, CHANGED_ID, EVENT_FILTERS, ID, PAIRS, SHOWN_FILTERS, USER_FILTERS } from './common'

const CONFIGURED = {
  name: 'The display name.',
  key: 'The key: letters, digits, `_` and `-`. It is fixed once created.',
  description: 'The description, at most 2,000 characters. Empty if not set.',
  ...BADGE,
  status:
    '`inactive`: nobody sees it. `active`: users can complete it. `locked`: users who have it keep it, and nobody new gets it. It never becomes inactive again.',
  trigger:
    'What completes it: the total of a `metric`, the length of the `streak`, a call (`api`), or other achievements (`achievement`).',
  metricId: 'Of trigger `metric`: the id of the metric.',
  metricValue: 'Of trigger `metric`: the total that completes it.',
  streakLength: 'Of trigger `streak`: the length that completes it.',
  achievementIds: 'Of trigger `achievement`: the achievements that are all needed.',
  ...USER_FILTERS,
  ...EVENT_FILTERS,
}

/** Achievements, as users have them and as they are configured. */
export const achievements: Chapter = {
  operations: {
    achievements_all: {
      description: 'The active achievements, with how many users have completed each of them.',
      parameters: {
        userAttributes: `Only achievements whose user filters all match these attribute values. ${PAIRS}`,
      },
      example: {},
    },
    achievements_complete: {
      description:
        'Completes an achievement with the trigger `api`, and answers with the points that came of it. The user is created if unknown. Calling it again answers with the first completion and no points, and changes nothing.',
      example: { body: { user: { id: 'demo-ada' } } },
    },
    users_achievements: {
      description:
        'The achievements that the user has completed. With `includeIncomplete`, also the active ones that the user has yet to complete, with `achievedAt: null`.',
      parameters: {
        includeIncomplete: '`true`: also lists achievements that the user has yet to complete.',
      },
      example: { query: { includeIncomplete: 'true' } },
    },
    ...resource({
      id: 'admin_achievements',
      one: 'achievement',
      many: 'achievements',
      about: 'An achievement is completed once, and kept for ever.',
      create: {
        note: 'It is inactive unless `status` says otherwise. Which fields are needed depends on `trigger`.',
        body: [
          {
            key: 'demo-ten-lessons',
            name: 'Ten lessons',
            trigger: 'metric',
            metricId: demo('metric', 'demo-lessons'),
            metricValue: 10,
            status: 'active',
          },
        ],
      },
      update: {
        note: 'The key is fixed. One that becomes active is completed, in the background and without notifications, for every user who qualifies already.',
        body: [{ id: demo('achievement', 'demo-first-lesson'), description: 'Complete a lesson.' }],
      },
      delete: {
        note: 'Users who completed it keep it in their history. One that something active uses is an issue.',
        id: demo('achievement', 'demo-ten-hours'),
      },
    }),
  },
  fields: [
    {
      of: ['AchievementCompletionRequest'],
      fields: { user: 'The user who completes it. Created if unknown; fields that are passed are updated.' },
    },
    {
      of: ['CreateAchievementRequestItem', 'AdminAchievement', 'UpdateAchievementRequestItem'],
      fields: { ...ID, ...CONFIGURED },
    },
    { of: ['UpdateAchievementRequestItem'], fields: CHANGED_ID },
    {
      of: ['UserAchievementResponse', 'AchievementWithStatsResponse', 'UserAchievementWithStatsResponse'],
      fields: {
        ...ID,
        name: 'The display name.',
        trigger: 'What completes it.',
        description: 'The description, or `null`.',
        badgeUrl: 'The address of the badge image, or `null`.',
        key: 'The key.',
        streakLength: 'Of trigger `streak`: the length that completes it.',
        achievementIds: 'Of trigger `achievement`: the achievements that are all needed.',
        metricId: 'Of trigger `metric`: the id of the metric.',
        metricValue: 'Of trigger `metric`: the total that completes it.',
        metricName: 'Of trigger `metric`: the name of the metric.',
        ...SHOWN_FILTERS,
        achievedAt: 'When the user completed it. `null` if not yet.',
        completions: 'How many users have completed it.',
        rarity: 'How many per cent of all users have completed it.',
      },
    },
    {
      of: ['AchievementCompletionResponse'],
      fields: {
        completionId: 'The id of the completion. The same when the call is repeated.',
        achievement: 'The achievement, with when the user completed it.',
        points:
          'What the completion did to points, by key of the points system. Empty when the call is repeated.',
      },
    },
  ],
}
