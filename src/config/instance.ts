import { settleCopy } from '../db/databases/copies'
import { Instance } from '../runtime/instance'

/** The memory of an isolate or object that begins. Its databases keep copies of the configuration (B4). */
export const newInstance = () => new Instance(settleCopy)
