import { type Configuration, type System, systemByKey } from '../../configuration/configuration.types'
import { byIdOrKey } from '../../configuration/drafts.rules'
import { errors } from '../../lib/errors'

/** The system with this id or key (O1). Throws 404 if there is none. */
export function presentSystem(config: Configuration, idOrKey: string): System {
  return byIdOrKey(config.systems, idOrKey, 'This points system')
}

/** The system with this key. Throws 404 if there is none. */
export function systemNamed(config: Configuration, key: string): System {
  const system = systemByKey(config, key)
  if (system === undefined) throw errors.notFound(`The points system ${JSON.stringify(key)}`)
  return system
}
