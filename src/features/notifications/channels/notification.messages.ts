import * as z from 'zod'
import { NOTIFICATION_TYPES } from '../../../config/enumerations.types'

const common = {
  userId: z.string(),
  iid: z.string(),
  type: z.enum(NOTIFICATION_TYPES),
  /** The subject of an email, the title of a push message. */
  title: z.string(),
  /** HTML of an email, text of a push message. */
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Why its template could not be rendered; it is kept for the log then, and never sent. */
  fault: z.string().optional(),
}

/** What a courier carries to a user: the `body` of a letter, as JSON. */
export const Notification = z.discriminatedUnion('channel', [
  z.object({ ...common, channel: z.literal('email'), to: z.string() }),
  z.object({
    ...common,
    channel: z.literal('push'),
    /** The devices that it has yet to reach. */
    tokens: z.array(z.string()),
    /** How many it has reached. */
    taken: z.number(),
  }),
])
export type Notification = z.infer<typeof Notification>
export type EmailNotification = Extract<Notification, { channel: 'email' }>
export type PushNotification = Extract<Notification, { channel: 'push' }>

/** The notification in a letter. */
export const notificationIn = ({ body }: { body: string }): Notification =>
  Notification.parse(JSON.parse(body))
