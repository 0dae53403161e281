import { resourcePage } from '../../resource/resource-page'
import { templates } from './templates.resource'

export default resourcePage(templates, ['attributes'])
