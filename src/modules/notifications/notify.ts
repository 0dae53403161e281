import type { TenantContext } from '../../context'
import type { UserState } from '../../engine/state'
import type { Configuration, Template } from '../configuration/configuration'
import type { Due } from './occasions'

/**
 * The body of a letter to a user by a template, as its courier takes it (but for `type`, which is the occasion's); null where there is
 * nothing to send.
 */
export async function letterFor(
  _context: TenantContext,
  _config: Configuration,
  user: UserState,
  { occasion }: Due,
  template: Template,
): Promise<Record<string, unknown> | null> {
  return { userId: user.id, templateId: template.id, occasion }
}
