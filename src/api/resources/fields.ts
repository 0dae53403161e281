import * as z from 'zod'
import type { Filter } from '../../configuration/model'
import { ConfigKey, Description, Name, optional, Picture, UuidResponse } from '../fields'

/* The fields of an admin resource: where each is in requests and answers, and how it is stored. */

/** A field of a resource. */
export type Field = {
  /** Its schema in an item of a create; null if it is not there. */
  create: z.ZodType | null
  /** Its schema in an item of an update. If it is absent or undefined there, it stays. */
  update: z.ZodType | null
  /** Its schema in answers. An optional one is left out if its column is null. */
  item: z.ZodType | null
  /** The field of the row that has it, if that has another name; null if none has it. */
  column?: string | null
  /** The value in the row. A create that leaves the field out gives undefined. */
  stored?(given: unknown): unknown
  shown?(stored: unknown): unknown
  /**
   * Whether it never changes. If some resources can change it, a function says which ones can't. An update by id
   * that names another value gets a warning.
   */
  isFixed?: (resource: object) => boolean
}

/** The fields of a resource, in the order of its answers. */
export type Fields = Readonly<Record<string, Field>>

/** A part of the fields: those of the items of a create, of an update, or of answers. */
export type Part<F extends Fields, P extends 'create' | 'update' | 'item'> = {
  [N in keyof F as F[N][P] extends z.ZodType ? N : never]: F[N][P] & z.ZodType
}

type ColumnOf<D extends Field, N> = D extends { column: infer C } ? C : N
type StoredOf<D extends Field> = D extends { stored(given: never): infer S }
  ? S
  : z.output<D['create'] & z.ZodType>

/** What the fields of a create say about the row of a new resource. */
export type RowOf<F extends Fields> = {
  [N in keyof F as F[N]['create'] extends z.ZodType ? ColumnOf<F[N], N> & string : never]: StoredOf<F[N]>
}

/** A field of creates and of answers that an update may change. */
export const field = <C extends z.ZodType, U extends z.ZodType, I extends z.ZodType>(
  create: C,
  update: U,
  item: I,
) => ({ create, update: optional(update), item })

/** A field that a create needs and an update may change. */
export const required = <C extends z.ZodType, I extends z.ZodType>(create: C, item: I) =>
  field(create, create, item)

/** A field that a create and an update may leave out. A new resource has null then. */
export const optionally = <C extends z.ZodType, I extends z.ZodType>(create: C, item: I) => ({
  create: optional(create),
  update: optional(create),
  item,
  stored: (given: z.output<C> | undefined) => given ?? null,
})

/** A field that can be left out, or removed with null. */
export const removable = <C extends z.ZodType, I extends z.ZodType>(create: C, item: I) => ({
  create: create.nullish(),
  update: create.nullish(),
  item,
  stored: (given: z.output<C> | null | undefined) => given ?? null,
})

/** A field that a create sets for good. */
export const fixed = <C extends z.ZodType, I extends z.ZodType>(create: C, item: I) => ({
  create,
  update: null,
  item,
  isFixed: () => true,
})

/** A field of answers only. */
export const shown = <I extends z.ZodType>(item: I) => ({ create: null, update: null, item })

/** A field of requests that names another resource by its key. The field with its id has what it means (O1). */
export const reference = <S extends z.ZodType>(schema: S) => ({
  create: optional(schema),
  update: optional(schema),
  item: null,
  column: null,
})

export const ID = shown(UuidResponse)
export const NAME = required(Name, z.string())
/** A key that never changes (O1). */
export const FIXED_KEY = fixed(ConfigKey, z.string())
/** A key that an update by id may change (O1). */
export const KEY = { create: ConfigKey, update: null, item: z.string() }
/** The same. A create that leaves it out gets a key that is made from other fields (O2). */
export const DERIVED_KEY = { ...KEY, create: optional(ConfigKey) }
/** A description, which may be empty. */
export const DESCRIPTION = {
  ...optionally(Description, z.string()),
  stored: (given: string | undefined) => given ?? '',
}

type AskedBadge = z.output<typeof Picture> | null | undefined

/** A badge, which null removes. */
export const BADGE = {
  ...removable(Picture, z.object({ url: z.string() }).nullable()),
  column: 'badgeUrl' as const,
  stored: (badge: AskedBadge) => badge?.url ?? null,
  shown: (url: string | null) => url && { url },
}

/** Filters on attributes, which null removes. */
export const filters = <S extends z.ZodType, I extends z.ZodType>(schema: S, item: I) => ({
  create: schema,
  update: schema,
  item,
  stored: (given: readonly Filter[] | null | undefined): readonly Filter[] => given ?? [],
})

/** An item of a request, or the fields of an answer. */
export type Item = Readonly<Record<string, unknown>>

/** The value of a field by its name. */
export const fieldOf = (one: object, name: string): unknown => Reflect.get(one, name)

/** What the fields of an item say about the row: all fields of a create, the named fields of an update. */
export function columns(fields: Fields, part: 'create' | 'update', item: Item): Item {
  const said = Object.entries(fields).flatMap(([name, { [part]: schema, column = name, stored }]) => {
    const given = item[name]
    if (schema === null || column === null || (part === 'update' && given === undefined)) return []
    return [[column, stored === undefined ? given : stored(given)]]
  })
  return Object.fromEntries(said)
}

/** A resource in an answer. `further` has the fields that the columns don't give. */
export function shownFields(fields: Fields, resource: object, further: object): Item {
  const said = Object.entries(fields).flatMap(([name, { item, column, shown }]) => {
    if (item === null) return []
    const stored = fieldOf(resource, column ?? name)
    const value = name in further ? fieldOf(further, name) : shown === undefined ? stored : shown(stored)
    return value === undefined || (value === null && item instanceof z.ZodOptional) ? [] : [[name, value]]
  })
  return Object.fromEntries(said)
}
