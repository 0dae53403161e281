import { type Chapter, demo, resource } from './chapter'
import { CHANGED_ID, CREATED, ID, UPDATED } from './common'

const WEBHOOK = {
  url: 'The `https` address that events are sent to, at most 2,048 characters. With the test clock on, loopback addresses and `http` to them are allowed too.',
  events: 'The types of events that it is sent. `*`: all, also those of later versions.',
  status: 'An inactive webhook is sent nothing. What was pending waits until it is active again.',
}

const USER = { user: 'The user, as of the change.' }

/** Webhooks, and what they are sent. */
export const webhooks: Chapter = {
  operations: {
    ...resource({
      id: 'admin_webhooks',
      one: 'webhook',
      many: 'webhooks',
      about: 'A webhook is a URL of yours that is sent events by signed `POST` requests.',
      create: {
        note: 'The `secret`, which signs what is sent, is shown here and by rotating it, and nowhere else.',
        body: [
          {
            url: 'https://example.com/laurel',
            events: ['streak.lost', 'leaderboard.finished'],
            status: 'inactive',
          },
        ],
      },
      update: {
        note: 'The secret stays.',
        body: [{ id: demo('webhook', 'active'), events: ['leaderboard.finished'] }],
      },
      delete: { note: 'Its deliveries are deleted too.', id: demo('webhook', 'inactive') },
    }),
    admin_webhooks_rotate_secret: {
      description:
        'Gives a webhook a new secret, which is shown here and never again. The old one is void at once: retries are signed with the new one too.',
      example: {},
    },
    admin_webhooks_deliveries_list: {
      description:
        'What a webhook was sent and is still to be sent, newest first. Deliveries that are over are kept for 30 days, the newest 20,000 of them.',
      example: {},
    },
    admin_webhooks_deliveries_redeliver: {
      description:
        'Sends a delivery again, whatever became of it, with all its retries. Its id stays, so that the receiver can tell that it has seen it.',
      example: {},
    },
    admin_webhooks_test: {
      description:
        'Sends a webhook a sample of a type of event, even if it is not subscribed to that type. The sample has the shape of a real event, with made-up data. 422 for an inactive webhook.',
      example: { body: { type: 'streak.lost' } },
    },
  },
  webhooks: {
    'achievement.completed': {
      summary: 'A user completed an achievement',
      description:
        'Sent when an achievement is completed. Not for users who qualified before it became active.',
    },
    'streak.started': { summary: 'A streak began', description: 'The length went from 0 to 1.' },
    'streak.extended': {
      summary: 'A streak grew by one',
      description: 'Never because of a freeze, a pause or a restore.',
    },
    'streak.lost': {
      summary: 'A streak ended',
      description: "Sent at the user's local midnight, with the length that was lost.",
    },
    'streak.freeze_consumed': {
      summary: 'A freeze kept a streak',
      description: 'One event for each period that a freeze kept.',
    },
    'streak.freeze_earned': {
      summary: 'A user got freezes',
      description: 'Freezes were earned, or granted by an admin. Not those that a new user gets.',
    },
    'points.changed': {
      summary: 'The points of a user changed',
      description:
        'At most once per 15 minutes for each user and points system, with all awards since the one before. Points for an achievement that users qualified for before it became active cause no message: they are in `total`, but not in `added` and `awards`, except of a message that was already waiting.',
    },
    'points.level_changed': {
      summary: 'Points took a user to another level',
      description: 'Never because levels were edited.',
    },
    'points.boost_started': {
      summary: 'A boost began',
      description: "At the first midnight on Earth, or at the user's own for a boost of one user.",
    },
    'points.boost_finished': {
      summary: 'A boost ended',
      description: "At the last midnight on Earth, or at the user's own for a boost of one user.",
    },
    'leaderboard.started': {
      summary: 'A run of a leaderboard began',
      description:
        'When its first date begins somewhere on Earth, or when it is activated later. Rankings are empty.',
    },
    'leaderboard.changed': {
      summary: 'The first ten places of a leaderboard changed',
      description:
        'At most once per 15 minutes for each leaderboard, run and group. The last state is always sent.',
    },
    'leaderboard.rank_changed': {
      summary: 'The rank of a user changed',
      description:
        'At most once per 15 minutes for each user and leaderboard. The last state is always sent.',
    },
    'leaderboard.finished': {
      summary: 'A run of a leaderboard is final',
      description: '12 hours after its end in UTC, with the first ten places.',
    },
    'emails.achievement_due': {
      summary: 'It is time for an email about an achievement',
      description: 'For emails that you send yourself.',
    },
    'emails.streak_reminder_due': {
      summary: 'It is time for an email that reminds of the streak',
      description: 'For emails that you send yourself.',
    },
    'emails.reactivation_due': {
      summary: 'It is time for an email to a user who has been away',
      description: 'For emails that you send yourself.',
    },
    'emails.recap_due': {
      summary: 'It is time for the email that recaps a week or a month',
      description: 'For emails that you send yourself.',
    },
  },
  fields: [
    {
      of: ['CreateWebhookRequestItem', 'AdminWebhook', 'CreatedWebhook'],
      fields: {
        ...ID,
        ...WEBHOOK,
        ...CREATED,
        ...UPDATED,
        secret: 'Signs what is sent: `whsec_` and base64. It is shown only here.',
      },
    },
    { of: ['UpdateWebhookRequestItem'], fields: { ...WEBHOOK, ...CHANGED_ID } },
    { of: ['TestWebhookRequest'], fields: { type: 'The type of the sample.' } },
    {
      of: ['WebhookDelivery'],
      fields: {
        id: 'The id, which the receiver sees as `webhook-id`. It stays the same on every retry.',
        event: 'The type of the event.',
        status: '`pending`, `delivered`, or `dead` after the last retry failed.',
        attempts: 'How often it was tried.',
        lastStatus: 'The status that the last attempt was answered with. `null` if there was no answer.',
        lastError: 'Why the last attempt failed. `null` if it did not.',
        created: 'When it was handed over to be sent.',
        nextAttempt: 'When it is tried next. `null` once it is delivered or dead.',
      },
    },
    {
      of: [/^webhook /],
      fields: {
        type: 'The type of the event.',
        timestamp: 'The moment at which it was due.',
        ...USER,
        achievement: 'The achievement.',
        streak: 'The streak after the change.',
        leaderboard: 'The leaderboard.',
        points: 'The points of the user in the system.',
        boost: 'The boost.',
        length: 'The length that was lost.',
        consumed: 'How many freezes were used.',
        earned: 'How many freezes the user got.',
        freezes: 'How many freezes the user has now.',
        previousLevel: 'The level before. `null` if there was none.',
        newLevel: 'The level now. `null` if the user has none.',
        reactivation: 'About the absence.',
        'reactivation.messageNumber': 'Which message of the series it is, from 1 to 5.',
        'reactivation.daysSinceLastActive': 'How many days ago the last event was.',
        recap: 'The period that is over.',
        'recap.periodStart': 'Its first day.',
        'recap.periodEnd': 'Its last day.',
        'points.id': 'The id of the points system.',
        'points.key': 'The key of the points system.',
        'points.name': 'The name of the points system.',
        'points.description': 'The description of the points system, or `null`.',
        'points.badgeUrl': 'The address of the badge image, or `null`.',
        'points.maxPoints': 'The most points that a user can have, or `null`.',
        'points.total': 'The total of the user.',
      },
    },
    {
      of: ['webhook leaderboard.rank_changed'],
      fields: { leaderboard: 'The leaderboard, with the place of the user now and in the last webhook.' },
    },
  ],
}
