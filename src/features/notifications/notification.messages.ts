import * as z from 'zod'
import { NOTIFICATION_TYPES } from '../../configuration/enumerations.types'

const common = {
  userId: z.string(),
  iid: z.string(),
  type: z.enum(NOTIFICATION_TYPES),
  /** The subject of an email, the title of a push message. */
  title: z.string(),
  /** HTML of an email, text of a push message. */
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Why the template could not be rendered. Such a notification goes to the log only and is never sent. */
  fault: z.string().optional(),
}

/** A notification in a delivery queue: the `body` of a message, as JSON. */
export const Notification = z.discriminatedUnion('channel', [
  z.object({ ...common, channel: z.literal('email'), to: z.string() }),
  z.object({
    ...common,
    channel: z.literal('push'),
    /** The devices that it has not reached yet. */
    tokens: z.array(z.string()),
    /** The number of devices that it has reached. */
    taken: z.number(),
  }),
])
export type Notification = z.infer<typeof Notification>
export type EmailNotification = Extract<Notification, { channel: 'email' }>
export type PushNotification = Extract<Notification, { channel: 'push' }>

/** The notification in a message. */
export const notificationIn = ({ body }: { body: string }): Notification =>
  Notification.parse(JSON.parse(body))
