import { resourcePage } from '../../resource/resource-page'
import { attributes } from './attributes.resource'

export default resourcePage(attributes)
