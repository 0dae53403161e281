import { type Chapter, demo, fieldsOf, resource } from '../../api/reference/chapter'
import {
  BADGE,
  CHANGED_ID,
  CHANGED_KEY,
  EVENT_FILTERS,
  ID,
  PAIRS,
  SHOWN_FILTERS,
  USER_FILTERS,
} from '../../api/reference/common.reference'

const CONFIGURED = {
  name: 'The display name.',
  key: 'The key: letters, digits, `_` and `-`. The trigger `api` needs one, and it can be changed by `id`. With the others it never changes, and without one it is made from the name.',
  description: 'The description, at most 2,000 characters. Empty if not set; `null` clears it.',
  ...BADGE,
  status:
    "`inactive`: users don't see it. `active`: users can complete it. `locked`: users who have it keep it, and no other users get it. An active or locked achievement can't become inactive again.",
  trigger:
    'How users complete it: by the total of a `metric`, by the length of the `streak`, by a call (`api`), by other achievements (`achievement`), or by the `anniversary` of the date on which the user signed up.',
  metricId: 'With the trigger `metric`: the id of the metric.',
  metricKey: 'The key of the metric, instead of its id.',
  metricValue: 'With the trigger `metric`: the total that completes it.',
  streakLength: 'With the trigger `streak`: the length that completes it.',
  achievementIds: 'With the trigger `achievement`: the achievements that a user needs, all of them.',
  achievementKeys: 'The keys of these achievements, instead of their ids.',
  anniversaryYears:
    'With the trigger `anniversary`: how many years after `signUpDate` it is completed, 1 to 100. It is completed at the midnight of the user.',
  ...USER_FILTERS,
  ...EVENT_FILTERS,
}

/** Achievements: reading them, completing them and configuring them. */
export const achievements: Chapter = {
  operations: {
    achievements_all: {
      description: 'The active achievements, each with the number of users who have completed it.',
      parameters: {
        userAttributes: `Only achievements whose user filters all match these attribute values. ${PAIRS}`,
      },
    },
    achievements_complete: {
      description:
        'Completes an achievement with the trigger `api`, and returns the points that the user got for it. A user with an unknown id is created. A repeated call changes nothing. It returns the first completion, without points.',
      example: { body: { user: { id: 'demo-ada' } } },
    },
    users_achievements: {
      description:
        'The achievements that the user has completed. With `includeIncomplete`, also the active ones that the user has not completed yet, with `achievedAt: null`.',
      parameters: {
        includeIncomplete: '`true`: also lists achievements that the user has not completed yet.',
      },
      example: { query: { includeIncomplete: 'true' } },
    },
    ...resource({
      id: 'admin_achievements',
      one: 'achievement',
      many: 'achievements',
      about: 'A user completes an achievement once, and keeps it for ever.',
      create: {
        note: 'It is inactive unless `status` says otherwise. Which fields are needed depends on `trigger`. A field of another trigger is an issue.',
        body: [
          {
            key: 'demo-ten-lessons',
            name: 'Ten lessons',
            trigger: 'metric',
            metricId: demo('metrics', 'demo-lessons'),
            metricValue: 10,
            status: 'active',
          },
        ],
      },
      update: {
        note: "The key can't be changed. If an achievement becomes active, every user who already qualifies gets it, in the background and without notifications.",
        body: [{ id: demo('achievements', 'demo-first-lesson'), description: 'Complete a lesson.' }],
      },
      delete: {
        note: 'Users who completed it keep it in their history. If something active uses an achievement, it is not deleted and becomes an issue.',
        id: demo('achievements', 'demo-ten-hours'),
      },
    }),
  },
  fields: [
    fieldsOf(['AchievementCompletionRequest'], {
      user: 'The user who completes it. A user with an unknown id is created. The fields that you pass are updated.',
    }),
    fieldsOf(['CreateAchievementRequestItem', 'AdminAchievement', 'UpdateAchievementRequestItem'], {
      ...ID,
      ...CONFIGURED,
    }),
    fieldsOf(['UpdateAchievementRequestItem'], { ...CHANGED_ID, ...CHANGED_KEY }),
    fieldsOf(
      ['UserAchievementResponse', 'AchievementWithStatsResponse', 'UserAchievementWithStatsResponse'],
      {
        ...ID,
        name: 'The display name.',
        trigger: 'How users complete it.',
        description: 'The description, or `null`.',
        badgeUrl: 'The address of the badge image, or `null`.',
        key: 'The key.',
        streakLength: 'With the trigger `streak`: the length that completes it.',
        achievementIds: 'With the trigger `achievement`: the achievements that a user needs, all of them.',
        metricId: 'With the trigger `metric`: the id of the metric.',
        metricValue: 'With the trigger `metric`: the total that completes it.',
        metricName: 'With the trigger `metric`: the name of the metric.',
        anniversaryYears:
          'With the trigger `anniversary`: how many years after `signUpDate` it is completed.',
        ...SHOWN_FILTERS,
        achievedAt: 'When the user completed it. `null` if the user has not completed it yet.',
        completions: 'The number of users who have completed it.',
        rarity: 'The share of all users who have completed it, in percent.',
      },
    ),
    fieldsOf(['AchievementCompletionResponse'], {
      completionId: 'The id of the completion. A repeated call returns the same id.',
      achievement: 'The achievement, with the time of its completion.',
      points:
        'The changes of points by this completion, by key of the points system. Empty if the call is a repeat.',
    }),
  ],
}
