import { Instance } from '../platform/instance'
import { settleCopy } from './copies/copies'

/** The memory of an isolate or object that begins. Its databases keep copies of the configuration (B4). */
export const newInstance = () => new Instance(settleCopy)
