import type * as z from 'zod'
import type { When } from './parts.builder'

/** A type of event: the schema of what is sent, besides `type`, and a sample of it with data that is nobody's (W2). */
export type WebhookEvent<Body extends z.ZodObject = z.ZodObject> = {
  body: Body
  sample: (when: When) => z.input<Body>
}

/** A type of event whose sample fits its schema. */
export const webhookEvent = <Body extends z.ZodObject>(
  body: Body,
  sample: (when: When) => z.input<Body>,
): WebhookEvent<Body> => ({ body, sample })
