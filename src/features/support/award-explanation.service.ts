import type * as z from 'zod'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import { byIdOrKey } from '../../configuration/drafts.rules'
import { fromMicros } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { triggerForms } from '../../store/awards.repository'
import { findUser } from '../../store/find-user.service'
import { type AwardRow, eventOfChange, findAward } from './award-explanation.repository'
import { arithmeticOf } from './award-explanation.rules'
import type { AwardExplanation } from './award-explanation.schemas'
import { eventResponse, momentOf } from './event.presenter'

/** An award that a request names, with its user's internal id. */
export type FoundAward = { config: Configuration; userIid: string; award: AwardRow }

/** Finds an award. `key` is the key or the id of its points system. Throws 404 if it does not exist. */
export async function findExplained(
  scope: Scope,
  { id, key, awardId }: { id: string; key: string; awardId: string },
): Promise<FoundAward> {
  const { iid: userIid } = await findUser(scope, id)
  const config = await configurationOf(scope)
  const { id: systemId } = byIdOrKey(config.systems, key, 'This points system')
  const award = await findAward(scope.db, userIid, { systemId, awardId })
  if (award === null) throw errors.notFound('This award')
  return { config, userIid, award }
}

/** Why an award is what it is (X1). */
export async function explain(
  { db }: Scope,
  { config, userIid, award }: FoundAward,
): Promise<z.input<typeof AwardExplanation>> {
  const { triggerId, triggerVersion, boosts, counterBefore, counterAfter, ...row } = award
  const { type, reason, reverses } = row
  const [event, forms] = await Promise.all([
    type === null ? eventOfChange(db, userIid, award) : null,
    triggerForms(db, [award]),
  ])
  const trigger = forms.get(`${triggerId} ${triggerVersion}`) ?? null
  const counter =
    counterBefore === null || counterAfter === null ? null : { before: counterBefore, after: counterAfter }
  return {
    award: { id: row.id, awarded: row.awarded, total: row.total, ...momentOf(row) },
    event: event && { ...eventResponse(config, event), idempotencyKey: event.idempotencyKey },
    trigger,
    ...(type !== null && { type, reason, reverses }),
    counter: counter && { before: fromMicros(counter.before), after: fromMicros(counter.after) },
    boosts: boosts ?? [],
    ...arithmeticOf({ ...row, boosts: boosts ?? [], counter }, trigger),
  }
}
