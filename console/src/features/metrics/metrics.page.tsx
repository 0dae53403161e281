import { resourcePage } from '../../resource/resource-page'
import { metrics } from './metrics.resource'

export default resourcePage(metrics)
