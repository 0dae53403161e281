import type { Attempt } from '../../../../delivery/queue.messages'

/** An email, ready to be sent. */
export type Email = {
  /** The letter's, the same on every retry. */
  id: string
  from: string
  to: string
  subject: string
  html: string
  text: string
  headers: Readonly<Record<string, string>>
}

/** What sends emails (N4). */
export type EmailPort = {
  send(email: Email): Promise<Attempt>
  /** Whether an email of which nobody knows whether it was sent can be sent again without being sent twice. */
  mayRepeat: boolean
}
