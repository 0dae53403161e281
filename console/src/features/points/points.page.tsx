import { resourcePage } from '../../resource/resource-page'
import { points } from './points.resource'

export default resourcePage(points)
