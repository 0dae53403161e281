import { type Chapter, demo, fieldsOf, resource } from '../../api/reference/chapter'
import {
  CHANGED_ID,
  CHANGED_KEY,
  CREATED,
  ID,
  OWN_KEY,
  UPDATED,
  USER_FILTERS,
} from '../../api/reference/common.reference'

const TEMPLATE = {
  ...OWN_KEY,
  type: 'The kind of notification.',
  channel: 'Whether it is an email or a push message.',
  subject: 'The subject of an email: Liquid, at most 1,000 characters.',
  title: 'The title of a push message: Liquid, at most 1,000 characters.',
  body: 'The HTML of an email, or the text of a push message: Liquid, at most 65,536 characters.',
  ...USER_FILTERS,
  status: 'Only active templates are sent. A new template is `inactive` unless you say otherwise.',
}

/** Emails and push messages. */
export const notifications: Chapter = {
  operations: {
    ...resource({
      id: 'admin_notification_templates',
      one: 'template',
      many: 'templates',
      about:
        'A template is the text of an email or a push message, in Liquid. If several templates fit a user, the oldest one is used.',
      create: {
        note: 'An email needs a `subject`, a push message a `title`.',
        body: [
          {
            type: 'recap',
            channel: 'email',
            subject: 'Your week, {{ user.name }}',
            body: '<p>You have {{ points["demo-xp"] }} XP.</p>',
          },
        ],
      },
      update: {
        body: [{ id: demo('template', 'email'), subject: 'Keep your streak, {{ user.name }}' }],
      },
      delete: { note: 'Its pending messages are not sent any more.', id: demo('template', 'push') },
    }),
    admin_notification_templates_preview: {
      description:
        'Renders a template for a user with the present data, and sends nothing. Missing data, such as an achievement that the user does not have, is made up.',
      example: { body: { userId: 'demo-ada' } },
    },
    admin_notification_templates_preview_draft: {
      description:
        'Renders a template that is not stored yet, as an editor needs it. The template has the fields with which it would be created. Nothing is stored or sent.',
      example: {
        body: {
          userId: 'demo-ada',
          template: {
            type: 'recap',
            channel: 'push',
            title: 'Your week, {{ user.name }}',
            body: 'You have {{ points["demo-xp"] }} XP.',
          },
        },
      },
    },
    admin_notification_templates_test: {
      description:
        'Sends a message by a template to a user, now and once, and says whether the provider took it. The user really gets it. The template may be inactive. The message is not in the log of messages, but the audit log has it, with the internal id of the user. With the rate limits on, a tenant can send as many tests as one address can send requests without a key.',
      example: { body: { userId: 'demo-ada' } },
    },
    admin_notifications_channels:
      'The providers that are configured in the variables of the deployment. A channel without a provider sends nothing: its messages are only in the log.',
    admin_notifications_log:
      'The emails and push messages that were sent, or would have been, newest first. Without a provider, they are in this log with the status `unsent: no provider`. The log keeps entries for 30 days, unless `DELIVERY_LOG_DAYS` sets another time, and at most the newest 20,000 of each channel.',
  },
  fields: [
    fieldsOf(['CreateTemplateRequestItem', 'AdminNotificationTemplate'], {
      ...ID,
      ...TEMPLATE,
      ...CREATED,
      ...UPDATED,
    }),
    fieldsOf(['UpdateTemplateRequestItem'], { ...TEMPLATE, ...CHANGED_ID, ...CHANGED_KEY }),
    fieldsOf(['PreviewTemplateRequest', 'PreviewDraftRequest'], {
      userId: 'The user that the template is rendered for.',
      template: 'The template. Its key, filters and status do not matter.',
    }),
    fieldsOf(['PreviewTemplateResponse', 'NotificationLogEntry'], {
      ...ID,
      userId: 'The user that the message is for.',
      type: 'The kind of notification.',
      channel: 'Whether it is an email or a push message.',
      subject: 'The subject of the email.',
      title: 'The title of the push message, or the subject of the email.',
      body: 'The HTML of the email, or the text of the push message.',
      text: 'The same email as plain text. It is sent with the HTML.',
      headers: 'Headers of the email, for one-click unsubscribing.',
      status: '`pending`, `sent`, `failed`, or `unsent: no provider`.',
      created: 'The time at which the message was due.',
    }),
    fieldsOf(['TestTemplateRequest', 'TestTemplateResponse'], {
      userId: 'The user who gets the message. The user must be reachable by the channel of the template.',
      channel: 'Whether it is an email or a push message.',
      status:
        '`sent`: the provider took it, for at least one device. `failed`: it did not. `unsent: no provider`: no provider is configured.',
      reason:
        'Why it was not sent, in the words of the provider, or which variables to set. After `sent`, why some devices could not be reached. Null if there is nothing to say.',
    }),
    fieldsOf(['NotificationChannelsResponse'], {
      email: 'The provider of emails. Empty without one, and without `EMAIL_FROM`.',
      push: 'The providers of push messages: Expo, APNs (Apple) and FCM (Google). Empty without any.',
    }),
    fieldsOf(['PreviewTemplateResponse'], { title: 'The title of the push message.' }),
  ],
}
