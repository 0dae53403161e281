import { resourcePage } from '../../resource/resource-page'
import { leaderboards } from './leaderboards.resource'

export default resourcePage(leaderboards, ['metrics', 'points', 'attributes'])
