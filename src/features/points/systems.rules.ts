import { type Configuration, type System, systemByKey } from '../../configuration/model'
import { errors } from '../../lib/errors'

/** The system with this key. Throws 404 if there is none. */
export function systemNamed(config: Configuration, key: string): System {
  const system = systemByKey(config, key)
  if (system === undefined) throw errors.notFound(`The points system ${JSON.stringify(key)}`)
  return system
}
