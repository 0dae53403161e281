import type { z } from 'zod'
import type { Scope } from '../../context'
import type { Instant } from '../../shared/clock'
import { newId } from '../../shared/ids'
import {
  type Attribute,
  type Configuration,
  type Filter,
  MOST_ATTRIBUTES,
} from '../configuration/configuration'
import { configurationOf, configure } from '../configuration/configuration.service'
import { byId, Draft, Issues, page, revised } from '../configuration/items'
import { boostStatus } from '../points/boosts.rules'
import { storeAttributes } from './attributes.repository'
import type {
  AdminAttribute,
  CreateAttributeRequestItem,
  UpdateAttributeRequestItem,
} from './attributes.schemas'

/** An attribute as the admin interface serves it. */
function attributeAnswer({ id, name, key, type }: Attribute): z.infer<typeof AdminAttribute> {
  return { id, name, key, type }
}

/** A page of the tenant's attributes, oldest first (G7). */
export async function listAttributes(scope: Scope, query: { limit: number; skip: number }) {
  const { attributes } = await configurationOf(scope)
  return page(attributes, query).map(attributeAnswer)
}

/** An attribute. Throws 404 where there is none of this id. */
export async function findAttribute(scope: Scope, id: string) {
  const { attributes } = await configurationOf(scope)
  return attributeAnswer(byId(attributes, id, 'This attribute'))
}

/** Creates attributes; a key that its type has already is an issue (G5, G7). */
export function createAttributes(
  scope: Scope,
  items: readonly z.output<typeof CreateAttributeRequestItem>[],
) {
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const issues = new Issues()
    for (const [index, { name, key, type }] of items.entries()) {
      const { list } = draft
      if (list.some((other) => other.type === type && other.key === key)) {
        issues.error({ index }, `The key "${key}" is taken by another ${type} attribute. Choose another key.`)
      } else if (list.length >= MOST_ATTRIBUTES) {
        issues.error(
          { index },
          `There are ${MOST_ATTRIBUTES} attributes, which is the most. Delete one first.`,
        )
      } else draft.put({ id: newId(now), created: now, updated: now, type, key, name })
    }
    const result = { created: draft.added.map(attributeAnswer), issues: issues.list }
    return { statements: storeAttributes(scope, draft), result }
  })
}

/** Renames attributes. */
export function updateAttributes(
  scope: Scope,
  items: readonly z.output<typeof UpdateAttributeRequestItem>[],
) {
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const issues = new Issues()
    const updated: z.infer<typeof AdminAttribute>[] = []
    for (const { id, name } of items) {
      const before = draft.find(id)
      if (before === undefined) issues.unknown(id, 'an attribute')
      else {
        const after = revised(before, { ...before, name: name ?? before.name }, scope.now)
        draft.put(after)
        updated.push(attributeAnswer(after))
      }
    }
    return { statements: storeAttributes(scope, draft), result: { updated, issues: issues.list } }
  })
}

/** Deletes attributes; one that something active uses is an issue (G9). */
export function deleteAttributes(scope: Scope, ids: readonly string[]) {
  return configure(scope, (config) => {
    const draft = new Draft(config.attributes)
    const issues = new Issues()
    const deleted: { id: string }[] = []
    const used = attributesInUse(config, scope.now)
    for (const id of ids) {
      if (draft.find(id) === undefined) issues.unknown(id, 'an attribute')
      else {
        const user = used.get(id)
        if (user === undefined) {
          draft.remove(id)
          deleted.push({ id })
        } else issues.error({ id }, `The attribute is used by ${user}. Change or delete that first.`)
      }
    }
    return { statements: storeAttributes(scope, draft), result: { deleted, issues: issues.list } }
  })
}

/** The attributes that something active uses, by id, with one thing that does (G9). */
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
  return used
}
