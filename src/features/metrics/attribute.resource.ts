import * as z from 'zod'
import { FIXED_KEY, fixed, ID, NAME, optionally } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { ATTRIBUTE_TYPES, ATTRIBUTE_WRITERS } from '../../configuration/enumerations'
import { keyTaken } from '../../configuration/keys.rules'
import type { Configuration, Filter } from '../../configuration/model'
import { attributes } from '../../configuration/tables.sql.ts'
import type { Instant } from '../../lib/clock'
import { MOST_ATTRIBUTES } from '../../lib/limits'
import { boostStatus } from '../../rules/points/boosts.rules'
import { statusOf } from '../../rules/runs.rules'

const Type = z.enum(ATTRIBUTE_TYPES)
const WritableBy = z.enum(ATTRIBUTE_WRITERS)

const NOT_OF_EVENTS =
  'writableBy: only user attributes have it. The sender of an event sets its attributes. Leave it out.'

/** Attributes of users and of events. One of each may have the same key: then `type` says which (O1). */
export const attribute = defineResource({
  kind: 'attribute',
  id: 'admin_attributes',
  path: '/attributes',
  one: 'an attribute',
  many: 'attributes',
  component: 'Attribute',
  list: 'attributes',
  table: attributes,
  apart: {
    field: 'type',
    schema: Type,
    both: (key) =>
      `A user attribute and an event attribute have the key "${key}". Add ?type=user or ?type=event.`,
  },
  fields: {
    id: ID,
    name: NAME,
    key: FIXED_KEY,
    type: fixed(Type, Type),
    writableBy: optionally(WritableBy, WritableBy.optional()),
  },
  demo: [
    { key: 'demo-plan', name: 'Plan', type: 'user', writableBy: 'user' },
    { key: 'demo-device', name: 'Device', type: 'event' },
    { key: 'demo-team', name: 'Team (unused)', type: 'user', writableBy: 'user' },
  ],
  show: ({ type, writableBy }) => ({ writableBy: type === 'user' ? writableBy : undefined }),
  make: (row, { draft: { list } }) => {
    const { type, key, writableBy } = row
    if (type === 'event' && writableBy !== null) return NOT_OF_EVENTS
    if (list.some((other) => other.type === type && other.key === key))
      return keyTaken(key, `${type} attribute`)
    if (list.length >= MOST_ATTRIBUTES)
      return `Limit of ${MOST_ATTRIBUTES} attributes reached. Delete one first.`
    // New attributes don't use the default of the column. It is for attributes from before this field
    // existed.
    return { ...row, writableBy: writableBy ?? (type === 'user' ? 'admin' : 'user') }
  },
  patch: (after, { type }, _write, { writableBy }) =>
    type === 'event' && writableBy !== undefined ? NOT_OF_EVENTS : after,
  kept: (id, { config, scope }) => {
    const user = attributesInUse(config, scope.now).get(id)
    return user === undefined ? null : `The attribute is used by ${user}. Change or delete that first.`
  },
})

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
    const user = `the leaderboard ${board.key}, which is not finished`
    for (const id of board.breakdown) used.set(id, user)
    mark(board.userAttributes, user)
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
