import type { Configuration, Template } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import type { TenantContext } from '../../../runtime/context'
import type { Notification } from '../channels/notification.messages'
import type { Due } from '../reasons.types'
import { type Compose, composer } from './render.service'

/** Makes the letter to a user by a template, of what is due. */
export type MessageBuilder = (user: UserState, due: Due, template: Template) => Promise<Notification>

/** What makes letters of a tenant by a configuration; what they need is read with the first of them. */
export function messageBuilderOf(context: TenantContext, config: Configuration): MessageBuilder {
  let compose: Promise<Compose> | null = null
  return async (user, { reason, at }, template) => {
    compose ??= composer(context)
    return (await compose)({ config, template, user, reason: reason.about, now: at })
  }
}
