import { BoundedMap } from '../lib/bounded'
import { perInstance } from '../platform/instance'
import type { Configuration } from './configuration.types'

/** Configurations by tenant id, at most 100; each is used only after D1 has confirmed its version. */
class ConfigurationCache extends BoundedMap<string, Configuration> {
  constructor() {
    super(100)
  }
}

export const configurationsOf = perInstance(() => new ConfigurationCache())
