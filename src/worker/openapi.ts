import { version } from '../../package.json'
import { type OpenApiDocument, openApiDocument } from '../api/openapi'
import { describe } from '../api/reference/chapter'
import { WEBHOOKS } from '../webhooks/events/events'
import { CHAPTERS } from './chapters'
import { adminOperations, applicationOperations } from './operations'

/**
 * The two OpenAPI documents that `GET /v1/openapi.json` and `GET /admin/v1/openapi.json` return. They are
 * made when the project is built (`scripts/lib/assets.mjs`). The Worker imports neither this file nor
 * src/reference, so descriptions and examples cost it nothing.
 */

const FORM =
  'Bodies are JSON, and may be compressed with gzip or deflate (`Content-Encoding`). An error is `{"error": "…"}`. Its text says what is wrong and how to fix it. A 422 also lists the problems in `issues`.'

/** The documents without the notes of the chapters. */
export const bare: Readonly<Record<'application' | 'admin', OpenApiDocument>> = {
  application: openApiDocument(applicationOperations, {
    title: 'Laurel: application interface',
    version,
    base: '/v1',
    olderBases: [{ url: '/api', description: 'The same operations, for clients before 1.0.28.' }],
    webhooks: WEBHOOKS,
    description: `Events, users, and their points, achievements, streaks and leaderboards. It accepts admin keys, application keys and user tokens. An application key or a token acts for one user, and you can use it in a browser. ${FORM}`,
  }),
  admin: openApiDocument(adminOperations, {
    title: 'Laurel: admin interface',
    version,
    base: '/admin/v1',
    description: `Configuration, keys, batches, and all data of all users. It accepts admin keys only. Use them on servers only. ${FORM}`,
  }),
}

export const application = describe(bare.application, CHAPTERS)
export const admin = describe(bare.admin, CHAPTERS)
