import { BoundedMap } from '../../shared/bounded'
import type { Configuration } from './configuration'

/** Configurations by tenant id, at most 100; each is used only at the version that D1 says is the present one. */
export class ConfigurationCache extends BoundedMap<string, Configuration> {
  constructor() {
    super(100)
  }
}
