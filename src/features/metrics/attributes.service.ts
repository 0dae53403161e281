import type * as z from 'zod'
import type {
  AdminAttribute,
  CreateAttributeRequestItem,
  UpdateAttributeRequestItem,
} from '../../api/shapes/attribute.schemas'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import type { Attribute, Configuration, Filter } from '../../configuration/configuration.types'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  type ListedPage,
  type Names,
  page,
  revised,
  updateEach,
} from '../../configuration/drafts.rules'
import type { AttributeType } from '../../configuration/enumerations'
import type { Instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { MOST_ATTRIBUTES } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import { boostStatus } from '../../rules/points/boosts.rules'
import { statusOf } from '../../rules/runs.rules'
import { storeAttributes } from './attributes.repository'

type UpdateItem = z.output<typeof UpdateAttributeRequestItem>

const WHAT = 'an attribute'

function attributeResponse({ id, name, key, type, writableBy }: Attribute): z.infer<typeof AdminAttribute> {
  return { id, name, key, type, ...(type === 'user' && { writableBy }) }
}

/** The entries of the audit log about the changes of a draft (Z1). */
const audited = ({ changes }: Draft<Attribute>) => entriesOf('attribute', changes, attributeResponse)

/** The issue for an event attribute with `writableBy` (K7). */
const NOT_OF_EVENTS =
  'writableBy: only user attributes have it. The sender of an event sets its attributes. Leave it out.'

/** A page of the tenant's attributes, oldest first (G7). */
export async function listAttributes(scope: Scope, query: ListedPage) {
  const { attributes } = await configurationOf(scope)
  return page(attributes, query).map(attributeResponse)
}

/**
 * An attribute, by its id or key. Throws 404 if there is none, and 422 if a user attribute and an event
 * attribute have the key and `type` does not say which one is meant (O1).
 */
export async function findAttribute(scope: Scope, idOrKey: string, type: string | undefined) {
  const { attributes } = await configurationOf(scope)
  const found = byIdOrKey(attributes, idOrKey, 'This attribute')
  const ofType = attributes.filter(({ key }) => key === found.key)
  if (found.id === idOrKey.toLowerCase() || ofType.length === 1) return attributeResponse(found)
  const meant = ofType.find((one) => one.type === type)
  if (meant === undefined) {
    throw errors.unprocessable(
      `A user attribute and an event attribute have the key "${found.key}". Add ?type=user or ?type=event.`,
    )
  }
  return attributeResponse(meant)
}

/**
 * Creates attributes. The response has an issue if another attribute of the same type has the key (G5, G7),
 * or if an event attribute has `writableBy` (K7).
 */
export function createAttributes(
  scope: Scope,
  items: readonly z.output<typeof CreateAttributeRequestItem>[],
) {
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const { created, issues } = createEach(draft, items, ({ name, key, type, writableBy }) => {
      if (type === 'event' && writableBy !== undefined) return NOT_OF_EVENTS
      if (draft.list.some((other) => other.type === type && other.key === key)) {
        return `The key "${key}" is taken by another ${type} attribute. Choose another key.`
      }
      if (draft.list.length >= MOST_ATTRIBUTES) {
        return `Limit of ${MOST_ATTRIBUTES} attributes reached. Delete one first.`
      }
      // New attributes don't use the default of the column. It is for attributes from before this field
      // existed.
      const who = writableBy ?? (type === 'user' ? 'admin' : 'user')
      return { id: newId(now), created: now, updated: now, type, key, name, writableBy: who }
    })
    return {
      statements: storeAttributes(scope, draft),
      audit: audited(draft),
      result: { created: created.map(attributeResponse), issues },
    }
  })
}

/** Renames attributes, and changes who may set them on users (K7). Values that users have stay. */
export function updateAttributes(scope: Scope, items: readonly UpdateItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const change = (before: Attribute, item: UpdateItem) => {
      if (before.type === 'event' && item.writableBy !== undefined) return NOT_OF_EVENTS
      const { name = before.name, writableBy = before.writableBy } = item
      return revised(before, { ...before, name, writableBy }, scope.now)
    }
    const { updated, issues } = updateEach(draft, items, WHAT, change, {
      fixed: ['key', 'type'],
      isMeant: ({ type }, item) => item.type === undefined || item.type === type,
    })
    return {
      statements: storeAttributes(scope, draft),
      audit: audited(draft),
      result: { updated: updated.map(attributeResponse), issues },
    }
  })
}

/**
 * Deletes attributes. If something active, a locked achievement, or a boost or leaderboard that isn't
 * finished uses an attribute, it stays, and the response has an issue (G9).
 */
export function deleteAttributes(
  scope: Scope,
  { type, ...names }: Names & { type?: AttributeType | undefined },
) {
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const used = attributesInUse(config, scope.now)
    const problem = (id: string) => {
      const user = used.get(id)
      return user === undefined ? null : `The attribute is used by ${user}. Change or delete that first.`
    }
    const isMeant = (one: Attribute) => type === undefined || one.type === type
    const result = deleteEach(draft, names, WHAT, problem, { isMeant })
    return { statements: storeAttributes(scope, draft), audit: audited(draft), result }
  })
}

/** The attributes in use, by id, each with the description of one thing that uses it (G9). */
function attributesInUse(config: Configuration, now: Instant): ReadonlyMap<string, string> {
  const used = new Map<string, string>()
  const mark = (filters: readonly Filter[], user: string) => {
    for (const { attributeId } of filters) used.set(attributeId, user)
  }
  for (const { key, triggers, boosts } of config.systems) {
    for (const { id, status, userAttributes, eventAttributes } of triggers) {
      if (status !== 'active') continue
      mark([...userAttributes, ...eventAttributes], `the active trigger ${id} of the points system ${key}`)
    }
    for (const boost of boosts) {
      if (boostStatus(boost, now, null) === 'finished') continue
      mark(boost.userAttributes, `the boost ${boost.id} of the points system ${key}, which is not finished`)
    }
  }
  for (const board of config.leaderboards) {
    if (statusOf(board, now) === 'finished') continue
    for (const id of board.breakdown) used.set(id, `the leaderboard ${board.key}, which is not finished`)
  }
  for (const { key, status, userAttributes, eventAttributes } of config.achievements) {
    if (status === 'inactive') continue
    mark([...userAttributes, ...eventAttributes], `the achievement ${key}, which is ${status}`)
  }
  for (const { id, status, userAttributes } of config.templates) {
    if (status === 'active') mark(userAttributes, `the active notification template ${id}`)
  }
  return used
}
