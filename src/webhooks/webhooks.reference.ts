import { type Chapter, demo, fieldsOf, resource } from '../api/reference/chapter'
import { CHANGED_ID, CHANGED_KEY, CREATED, ID, OWN_KEY, UPDATED } from '../api/reference/common.reference'

const WEBHOOK = {
  ...OWN_KEY,
  url: 'The `https` address that events are sent to, at most 2,048 characters. With the test clock on, loopback addresses and `http` to them are allowed too.',
  events: 'The types of events that it gets. `*`: all types, also types of later versions.',
  status:
    'An inactive webhook gets no events. Pending deliveries wait until it is active again. A receiver that answers 410 makes it inactive.',
}

const USER = { user: 'The user at the time of the change.' }

/** Webhooks, and the events that they get. */
export const webhooks: Chapter = {
  operations: {
    ...resource({
      id: 'admin_webhooks',
      one: 'webhook',
      many: 'webhooks',
      about: 'A webhook is a URL of yours. Laurel sends events to it by signed `POST` requests.',
      create: {
        note: 'Requests are signed with the `secret`. Only this response shows it, and the response to rotating it.',
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
    admin_webhooks_rotate_secret:
      'Gives a webhook a new secret. Only this response shows it. For 24 hours, requests have the signatures of both secrets: `webhook-signature` has the new one first. `X-Trophy-Signature` is by the new one only. If you replace it again, the newest two sign.',
    admin_webhooks_deliveries_list: {
      description:
        'The past and pending deliveries of a webhook, newest first, also only those with a status or of an event. Past deliveries are kept for 30 days, unless `DELIVERY_LOG_DAYS` sets another time, and at most the newest 20,000. A page can have fewer deliveries than `limit`, or none, and a `Link` to the next page.',
      parameters: {
        status: 'Only deliveries with this status.',
        event: 'Only deliveries of events of this type.',
      },
    },
    admin_webhooks_deliveries_get: 'One delivery, with the event that it sends.',
    admin_webhooks_deliveries_redeliver:
      'Sends a delivery again, with all retries. Its status does not matter. Its id stays the same, so that the receiver can recognize a repeat.',
    admin_webhooks_redeliver: {
      description:
        'Sends all deliveries again that failed since a moment, or that have a `status`, with all their retries and the same ids. It ends a rest. It runs in the background, in parts, and `GET` on the same path says how far it is. Only one runs at a time: until it is done, another one is 422.',
      example: { body: { since: '2026-01-01T00:00:00Z' } },
    },
    admin_webhooks_redeliver_get:
      'How far the last `POST` on the same path is. `since` is `null` if there was none.',
    admin_webhooks_try:
      'Ends a rest of the webhook. Deliveries that are due are sent at once, and so is the next one that waits for a retry. The status is 422 for an inactive webhook.',
    admin_webhooks_test: {
      description:
        'Sends a sample event of a type to a webhook at once, also during a rest, and even if the webhook is not subscribed to that type. The sample has the shape of a real event, with made-up data. The answer says what came back, if that is within 20 seconds. The status is 422 for an inactive webhook.',
      example: { body: { type: 'streak.lost' } },
    },
  },
  webhooks: {
    'achievement.completed': {
      summary: 'A user completed an achievement',
      description:
        'Sent when a user completes an achievement. Not sent for users who qualified before it became active.',
    },
    'streak.started': { summary: 'A streak began', description: 'The length has changed from 0 to 1.' },
    'streak.extended': {
      summary: 'A streak grew by one',
      description: 'Not sent for a freeze, a pause or a restore.',
    },
    'streak.lost': {
      summary: 'A streak ended',
      description:
        "Sent at the user's local midnight, with the length that was lost. If a change of the time zone has skipped the end of a period, it is sent at the next midnight, or when a later period is satisfied.",
    },
    'streak.freeze_consumed': {
      summary: 'A freeze kept a streak',
      description: 'One event for each period in which a freeze kept the streak.',
    },
    'streak.freeze_earned': {
      summary: 'A user got freezes',
      description:
        'The user earned freezes, or an admin granted some. Not sent for the freezes of a new user.',
    },
    'points.changed': {
      summary: 'The points of a user changed',
      description:
        'At most once per 15 minutes for each user and points system, with all awards since the previous event. Points for an achievement that users qualified for before it became active cause no event. They are in `total`, but not in `added` and `awards`, unless an event was already waiting.',
    },
    'points.level_changed': {
      summary: 'Points took a user to another level',
      description: 'Not sent if the level changes because levels were edited.',
    },
    'points.boost_started': {
      summary: 'A boost began',
      description:
        "Sent when its first date begins somewhere on Earth. For a boost of one user: at that user's local midnight.",
    },
    'points.boost_finished': {
      summary: 'A boost ended',
      description:
        "Sent when its last date is over everywhere on Earth. For a boost of one user: at that user's local midnight.",
    },
    'leaderboard.started': {
      summary: 'A run of a leaderboard began',
      description:
        'Sent when its first date begins somewhere on Earth, or later, when the leaderboard is activated. The rankings are empty.',
    },
    'leaderboard.changed': {
      summary: 'The first ten places of a leaderboard changed',
      description:
        'Sent at most once per 15 minutes for each leaderboard, run and group. The last state is always sent.',
    },
    'leaderboard.rank_changed': {
      summary: 'The rank of a user changed',
      description:
        'Sent at most once per 15 minutes for each user and leaderboard. The last state is always sent.',
    },
    'leaderboard.finished': {
      summary: 'A run of a leaderboard is final',
      description: 'Sent 12 hours after its end in UTC, with the first ten places.',
    },
    'emails.achievement_due': {
      summary: 'It is time for an email about an achievement',
      description: 'For products that send their own emails.',
    },
    'emails.streak_reminder_due': {
      summary: 'It is time for an email that reminds of the streak',
      description: 'For products that send their own emails.',
    },
    'emails.reactivation_due': {
      summary: 'It is time for an email to a user who has been away',
      description: 'For products that send their own emails.',
    },
    'emails.recap_due': {
      summary: 'It is time for the email that recaps a week or a month',
      description: 'For products that send their own emails.',
    },
  },
  fields: [
    fieldsOf(['CreateWebhookRequestItem', 'AdminWebhook', 'CreatedWebhook'], {
      ...ID,
      ...WEBHOOK,
      ...CREATED,
      ...UPDATED,
      secret: 'The key for signatures: `whsec_` and base64. Only this response shows it.',
      goneAt:
        'When the receiver answered 410, which made the webhook inactive. `null` if that has not happened since it was last active.',
      previousSecretEnds: 'Until when the previous secret signs too. `null` if there is none.',
      health:
        'How the endpoint does. Absent in answers to writes; `null` if the webhook is inactive, or its queue does not answer.',
    }),
    fieldsOf(['WebhookHealth', 'FailingWebhook'], {
      failing:
        'Whether it fails: the last 20 attempts failed, or two or more deliveries and at least a tenth of those tried.',
      tried: 'The number of deliveries since `since` that were tried, of the newest 10,000.',
      failed: 'How many of them have not arrived: the last attempt failed.',
      since: 'A day ago, or later if the newest 10,000 deliveries do not reach that far.',
      pending: 'The number of pending deliveries, at most 10,000.',
      dead: 'The number of dead deliveries among the newest 10,000.',
      restsUntil: 'Until when nothing is sent to it. `null` if it does not rest.',
      tenantId: 'The id of the tenant.',
      id: 'The id of the webhook.',
      key: 'The key of the webhook.',
    }),
    fieldsOf(['RedeliverRequest', 'Redelivery', 'BegunRedelivery'], {
      running: 'Whether it is going on.',
      since: 'Only deliveries are sent that were created since then.',
      status: 'Only deliveries with this status are sent. Without it: those whose last attempt failed.',
      reached: 'All deliveries of events up to this moment are done. `null` at the beginning.',
      until: 'The moment of the last event that it will come to.',
      sent: 'The number of deliveries that were sent again.',
    }),
    fieldsOf(['UpdateWebhookRequestItem'], { ...WEBHOOK, ...CHANGED_ID, ...CHANGED_KEY }),
    fieldsOf(['TestWebhookRequest'], { type: 'The type of the sample.' }),
    fieldsOf(['WebhookDelivery', 'TestDelivery', 'WholeWebhookDelivery'], {
      id: 'The id, which the receiver sees as `webhook-id`. It stays the same on every retry.',
      event: 'The type of the event.',
      status: '`pending`, `delivered`, or `dead` after the last retry failed.',
      attempts: 'The number of attempts.',
      lastStatus: 'The status of the last response. `null` if there was no response.',
      lastError: 'Why the last attempt failed. `null` if it did not.',
      created: 'When the delivery was created.',
      nextAttempt: 'The time of the next attempt. `null` if the delivery is `delivered` or `dead`.',
      body: 'The event, as it is sent.',
      response:
        'What the receiver answered: its status, after how many milliseconds, and the first KB of the body. `null` if there was no answer; `lastError` says why.',
      'response.status': 'The status.',
      'response.milliseconds': 'The time until the answer had come, in milliseconds.',
      'response.body': 'The first KB of the body, of what came within half a second.',
    }),
    fieldsOf([/^webhook /], {
      type: 'The type of the event.',
      timestamp: 'The time at which the event was due.',
      ...USER,
      achievement: 'The achievement.',
      streak: 'The streak after the change.',
      leaderboard: 'The leaderboard.',
      points: 'The points of the user in the system.',
      boost: 'The boost.',
      length: 'The length that was lost.',
      consumed: 'The number of freezes that were used.',
      earned: 'The number of freezes that the user got.',
      freezes: 'The number of freezes that the user has now.',
      previousLevel: 'The previous level. `null` if there was none.',
      newLevel: 'The level now. `null` if the user has none.',
      reactivation: 'The absence of the user.',
      'reactivation.messageNumber': 'The number of the message in the series, from 1 to 5.',
      'reactivation.daysSinceLastActive': 'The number of days since the last event.',
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
    }),
    fieldsOf(['webhook leaderboard.rank_changed'], {
      leaderboard: 'The leaderboard, with the place of the user now and in the last webhook.',
    }),
  ],
}
