import { resourcePage } from '../../resource/resource-page'
import { achievements } from './achievements.resource'

export default resourcePage(achievements, ['metrics', 'achievements', 'attributes'])
