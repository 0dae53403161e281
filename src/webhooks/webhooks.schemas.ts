import * as z from 'zod'
import {
  ConfigKey,
  createResponse,
  defaulted,
  deleteResponse,
  isNamed,
  itemName,
  items,
  optional,
  Timestamp,
  UuidResponse,
  updateResponse,
} from '../api/fields'
import { SUBSCRIPTIONS, SWITCH_STATUSES, subscriptions } from '../configuration/enumerations'
import { MOST_URL_CHARACTERS } from '../lib/limits'

const MOST_GIVEN = 100
/** The most characters of a wrong name that a message repeats. */
const NAME_SHOWN = 100

/** `net.ts` decides which URLs are allowed, because that depends on the deployment. */
const Url = z.string().max(MOST_URL_CHARACTERS).meta({ format: 'uri' })

const EventName = z.enum(SUBSCRIPTIONS, {
  error: ({ input }) =>
    typeof input === 'string'
      ? `must be the name of an event or *, and ${JSON.stringify(input.slice(0, NAME_SHOWN))} is none`
      : 'must be the name of an event or *',
})

const Events = z.array(EventName).min(1).max(MOST_GIVEN).transform(subscriptions)

const Status = z.enum(SWITCH_STATUSES)

/** A webhook to configure (W1). */
export const CreateWebhookRequestItem = z
  .object({ key: optional(ConfigKey), url: Url, events: Events, status: defaulted(Status, 'active') })
  .meta({ id: 'CreateWebhookRequestItem' })

/** A change to a webhook. Absent fields stay. */
export const UpdateWebhookRequestItem = z
  .object({
    ...itemName,
    url: optional(Url),
    events: optional(Events),
    status: optional(Status),
  })
  .check(isNamed)
  .meta({ id: 'UpdateWebhookRequestItem' })

const shown = {
  id: UuidResponse,
  key: z.string(),
  url: z.string().meta({ format: 'uri' }),
  events: z.array(z.enum(SUBSCRIPTIONS)),
  status: Status,
  goneAt: Timestamp.nullable(),
  previousSecretEnds: Timestamp.nullable(),
  created: Timestamp,
  updated: Timestamp,
}

/** A webhook in a response, without its secret. */
export const AdminWebhook = z.object(shown).meta({ id: 'AdminWebhook' })

/**
 * A webhook after its creation, or after its secret was replaced. Only these responses show the secret (W1).
 */
export const CreatedWebhook = z.object({ ...shown, secret: z.string() }).meta({ id: 'CreatedWebhook' })

export const CreateWebhooksRequest = items(CreateWebhookRequestItem).meta({ id: 'CreateWebhooksRequest' })
export const UpdateWebhooksRequest = items(UpdateWebhookRequestItem).meta({ id: 'UpdateWebhooksRequest' })
export const ListWebhooksResponse = z.array(AdminWebhook).meta({ id: 'ListWebhooksResponse' })
export const CreateWebhooksResponse = createResponse('CreateWebhooksResponse', CreatedWebhook)
export const UpdateWebhooksResponse = updateResponse('UpdateWebhooksResponse', AdminWebhook)
export const DeleteWebhooksResponse = deleteResponse('DeleteWebhooksResponse')
