/**
 * The two OpenAPI documents as `GET /v1/openapi.json` and `GET /admin/v1/openapi.json` serve them. They are made when the project is
 * built (`scripts/lib/assets.mjs`); the Worker imports nothing of this folder, so that descriptions and examples cost it nothing.
 */
import { version } from '../../package.json'
import { openApiDocument } from '../http/openapi'
import { WEBHOOKS } from '../modules/webhooks/payloads'
import { adminOperations, applicationOperations } from '../operations'

const title = 'Laurel'

export const application = openApiDocument(applicationOperations, {
  title,
  version,
  base: '/v1',
  webhooks: WEBHOOKS,
})
export const admin = openApiDocument(adminOperations, { title, version, base: '/admin/v1' })
