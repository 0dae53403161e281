/**
 * The two OpenAPI documents as `GET /v1/openapi.json` and `GET /admin/v1/openapi.json` serve them. They are made when the project is
 * built (`scripts/lib/assets.mjs`); the Worker imports nothing of this folder, so that descriptions and examples cost it nothing.
 */
import { version } from '../../package.json'
import { type OpenApiDocument, openApiDocument } from '../http/openapi'
import { WEBHOOKS } from '../outbox/events/events.register'
import { CHAPTERS } from '../reference/chapters'
import { describe } from '../reference/describe'
import { adminOperations, applicationOperations } from './operations'

const FORM = 'Bodies are JSON. An error is `{"error": "…"}`: what is wrong and how to fix it.'

/** The documents without what the chapters say. */
export const bare: Readonly<Record<'application' | 'admin', OpenApiDocument>> = {
  application: openApiDocument(applicationOperations, {
    title: 'Laurel: application interface',
    version,
    base: '/v1',
    olderBases: [{ url: '/api', description: 'The same operations, for clients before 1.0.28.' }],
    webhooks: WEBHOOKS,
    description: `Events, users, and what they have. It takes admin keys, and application keys, which speak for one user and may live in a browser. ${FORM}`,
  }),
  admin: openApiDocument(adminOperations, {
    title: 'Laurel: admin interface',
    version,
    base: '/admin/v1',
    description: `Configuration, keys, batches, and everything about all users. It takes admin keys only, which belong on servers. ${FORM}`,
  }),
}

export const application = describe(bare.application, CHAPTERS)
export const admin = describe(bare.admin, CHAPTERS)
