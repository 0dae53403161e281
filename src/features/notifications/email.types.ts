import type { Attempt } from '../../webhooks/delivery/queue.messages'

/** An email, ready to be sent. */
export type Email = {
  /** The id of the message, the same on every retry. */
  id: string
  from: string
  to: string
  subject: string
  html: string
  text: string
  headers: Readonly<Record<string, string>>
}

/** An email provider (N4). */
export type EmailPort = {
  send(email: Email): Promise<Attempt>
  /**
   * Whether an email can be sent again after an attempt with unknown outcome, without reaching the user
   * twice.
   */
  mayRepeat: boolean
}
