import { version } from '../../package.json'
import { type OpenApiDocument, openApiDocument } from '../api/openapi'
import { type Chapter, describe } from '../api/reference/chapter'
import { common } from '../api/reference/common.reference'
import { account, audit, keys } from '../features/account/account.reference'
import { achievements } from '../features/achievements/achievements.reference'
import { analytics, wrapped } from '../features/analytics/analytics.reference'
import { events } from '../features/events/events.reference'
import { notifications } from '../features/notifications/notifications.reference'
import { points, pointsAdmin } from '../features/points/points.reference'
import { streaks } from '../features/streaks/streaks.reference'
import { corrections, explanations } from '../features/support/support.reference'
import { userExport, users } from '../features/users/users.reference'
import { leaderboards } from '../leaderboards/leaderboards.reference'
import { WEBHOOKS } from '../webhooks/events'
import { webhooks } from '../webhooks/webhooks.reference'
import { adminOperations, applicationOperations } from './operations'

/** All chapters. If several have a note for the same field, the note of the last one counts. */
export const CHAPTERS: readonly Chapter[] = [
  common,
  events,
  users,
  userExport,
  explanations,
  keys,
  points,
  pointsAdmin,
  corrections,
  achievements,
  leaderboards,
  streaks,
  wrapped,
  webhooks,
  notifications,
  analytics,
  audit,
  account,
]

/**
 * The two OpenAPI documents that `GET /v1/openapi.json` and `GET /admin/v1/openapi.json` return. They are
 * made when the project is built (`scripts/lib/assets.mjs`). The Worker imports neither this file nor
 * the `.reference.ts` files, so descriptions and examples cost it nothing.
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
