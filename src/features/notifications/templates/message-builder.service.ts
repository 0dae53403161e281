import type { Configuration, Template } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import type { TenantContext } from '../../../runtime/context'
import type { Notification } from '../channels/notification.messages'
import type { Due } from '../reasons.types'
import { type Compose, composer } from './render.service'

/** Builds the message to a user from a template and the reason. */
export type MessageBuilder = (user: UserState, due: Due, template: Template) => Promise<Notification>

/**
 * The message builder of a tenant for one configuration. The first message reads the data that all of them
 * need.
 */
export function messageBuilderOf(context: TenantContext, config: Configuration): MessageBuilder {
  let compose: Promise<Compose> | null = null
  return async (user, { reason, at }, template) => {
    compose ??= composer(context)
    return (await compose)({ config, template, user, reason: reason.about, now: at })
  }
}
