/**
 * How a page of things that can be configured is declared: their list, their form, what can be done with one.
 * `resource-page.tsx` makes the pages from it. docs/console.md says how to add one.
 */
import type { Laurel, List } from '@laurel/client'
import type { ReactNode } from 'react'
import type { DeepPartial, FieldPath, FieldValues } from 'react-hook-form'
import type { z } from 'zod'
import type { Secret } from '../session/kept'
import type { Fact } from '../ui/page'
import type { Option, Options } from '../ui/select'
import type { Column } from '../ui/table'
import { nameOr } from '../ui/text'
import type { ReadAffected } from './affected'
import type { LookupName, Lookups } from './lookups'

export type Admin = Laurel['admin']

/** Sends a write. */
export type Act<Answer> = (admin: Admin, laurel: Laurel) => PromiseLike<Answer>

/** A problem with one item of a write, as the interface answers it. */
export type Issue = { severity: 'error' | 'warning'; message: string }

/** The answer to a write. */
export type Written<Item> = {
  created?: Item[]
  updated?: Item[]
  deleted?: { id: string }[]
  issues?: Issue[]
}

/**
 * A function of what a declaration is about. It has the type of a method, as those with a name have: a declaration of
 * certain items and values is one of any, for the parts that make pages and forms of it.
 */
export type Told<Arguments extends unknown[], Answer> = { by(...given: Arguments): Answer }['by']

/** The values that the form of an existing item had at first. */
export type Initial<Values extends FieldValues> = Readonly<DeepPartial<Values>>

/** The props of a field that has its own component. */
export type CustomField<Values extends FieldValues> = {
  values: Values
  /** Gives a field of the form another value. */
  change(name: FieldPath<Values>, value: unknown): void
  lookups: Lookups
  label: string
  message: string | undefined
}

/** The parts of a field that all kinds have. */
type FieldBase<Values extends FieldValues> = {
  name: FieldPath<Values>
  /** The name of the field in the interface, in words, such as "Metric". */
  label: string
  hint?: string | Told<[values: Values], string | undefined>
  /** Is said beside the label, so that required fields need no mark. */
  isOptional?: boolean
  /** Whether the field is shown with these values. A field that is not shown is not sent. */
  when?(values: Values): boolean
  /** Why it can't be changed in an existing item, in words; null if it can. It is shown disabled. */
  fixed?: string | Told<[values: Values, initial: Initial<Values> | Values], string | null>
  /** Its value in the form of a new item. By default it is empty, and a choice is the first one. */
  first?: string | boolean
}

/** A list. Each row has a choice and a text, which are parts of its value. */
type RowsKind = {
  kind: 'rows'
  /** The name of a row, such as "filter". */
  one: string
  choice: {
    part: string
    none: string
    options(lookups: Lookups): readonly Option[]
    labelOf: (index: number) => string
  }
  text: {
    part: string
    before?: string
    isNumber?: boolean
    first: string
    labelOf: (index: number) => string
  }
  /** The text of the button that adds a row. */
  add: string
  /** The next step if there is nothing to choose. */
  none?: string
  inWords(value: unknown, lookups: Lookups): string
}

export type Field<Values extends FieldValues = FieldValues> = FieldBase<Values> &
  (
    | { kind: 'text' | 'long-text' | 'date' | 'time'; placeholder?: string }
    /** A key. It follows the name until it is edited. */
    | { kind: 'key'; from?: FieldPath<Values> }
    /** `isSigned` if it may be negative: the keypads of some phones have no minus. */
    | { kind: 'number'; isSigned?: true; unit?: string | Told<[values: Values, lookups: Lookups], string> }
    /** Its options may depend on the item: `initial` is null in the form of a new one. */
    | { kind: 'choice'; options: Options | Told<[initial: Initial<Values> | null], Options> }
    /** A choice among other resources, by id. */
    | {
        kind: 'reference'
        to: 'metrics' | 'points' | 'achievements'
        /** Whether the oldest one is chosen at first. */
        isFirstChosen?: boolean
      }
    | { kind: 'switch' }
    /** Several other resources, by id or key. */
    | {
        kind: 'references'
        options(lookups: Lookups, initial: Initial<Values> | null): Options
        /** The next step if there are no options. */
        none?: string
      }
    | RowsKind
    | {
        kind: 'custom'
        render(field: CustomField<Values>): ReactNode
        inWords?(values: Values, lookups: Lookups): string
      }
  )

/** Something that can be done with an item by a button, such as a move to another status. */
export type Move<Item, Draft> = {
  label: string
  /** What happens to the item, such as `was locked`. Begins with "was" or "is". */
  did: string
  /** The fields that change, with their new values, such as another status. */
  change?: Partial<Draft>
  /** How the service does it. Without it, the item is updated with `change`. */
  act?: Act<Written<Item>>
  /** The text of the question before, if there is one. */
  text?: ReactNode
  /** A text that has to be typed before. */
  typed?: { label: string; text: string }
  /** Reads the names and numbers of all that the move affects. */
  affected?: ReadAffected | undefined
  isDangerous?: boolean
  /** Is true if the item is gone afterwards. */
  isRemoval?: boolean
}

/** The calls of the admin interface for these items. */
export type Operations<Item, Draft> = {
  list(query?: { limit: number; skip: number }): List<Item>
  get(key: string): PromiseLike<Item>
  create(drafts: Draft[]): PromiseLike<Written<Item>>
  update(changes: (Partial<Draft> & { id: string })[]): PromiseLike<Written<Item>>
  delete(query: { ids: string[] }): PromiseLike<Written<Item>>
}

/** The parts by which an item is known. */
export type Thing = { id: string; key?: string; name?: string }

/** A resource, as far as its list needs it. */
export type Listed<Item extends Thing> = Pick<
  Resource<Item>,
  'path' | 'operations' | 'nameOf' | 'pathsBy' | 'needs'
>

export type Resource<
  Item extends Thing = Thing,
  Values extends FieldValues = FieldValues,
  Draft extends object = object,
> = {
  /** The name of the page, such as "Metrics". */
  name: string
  /** One of them, such as "metric". */
  one: string
  /** The path of the page, such as `/metrics`. Also the beginning of the keys of its queries. */
  path: string
  /** The page that shows them, if it is another one. */
  page?: string
  intro: string
  /** The text of the page without any items. It says their purpose, and the first step. */
  empty: { title: string; text: string }

  /** Set if paths name an item by its id. Without it, they name the key. */
  pathsBy?: 'id'
  /** The name of an item, or of what a form sends, if that is not its field `name`. */
  nameOf?(item: Item | Draft, lookups: Lookups): string
  /** The title of the column of names, if that is not "Name". */
  nameTitle?: string
  statusOf?(item: Item): string | null

  /** The other resources that its texts and forms name. */
  needs?: readonly LookupName[]
  operations(admin: Admin): Operations<Item, Draft>

  /** More of the page with the list. */
  ListSections?(): ReactNode

  /** The columns of the table between the name and the status. */
  columns(lookups: Lookups): readonly Column<Item>[]
  /** Names and values on the page of an item, besides those of its form. */
  facts?(item: Item, lookups: Lookups): readonly Fact[]
  /** More of the page of an item: charts, and what belongs to it. */
  Sections?(props: { item: Item }): ReactNode
  /** A secret of an item that was created. It is shown once. */
  secretOf?(item: Item): Secret | undefined
  /** The effect of the item, in words. */
  summary?(item: Item, lookups: Lookups): string | null

  form: {
    /** Whether people often create several in a row: the form then has a button that stays open. */
    isRepeated?: boolean
    fields: readonly Field<Values>[]
    /** Turns values into a draft. Its messages are shown as one types. */
    schema: z.ZodType<Draft, FieldValues>
    /** The values of a new item, or of an existing one, if they are not those of its fields by their names. */
    values?(item: Item | null): Values
    /** The effect of the item, in words. Null while that can't be said. */
    preview?(values: Values, lookups: Lookups): string | null
  }
  /** The actions on an item, except its deletion. */
  moves?(item: Item): readonly Move<Item, Draft>[]
  /** What else the deletion of an item does. */
  deletion?: {
    text: string
    affected?(item: Item): ReadAffected
  }
}

/** The part of a path that names an item: its id or its key. The key `new` would be the form of a new item. */
export const keyOf = ({ pathsBy }: Pick<Resource, 'pathsBy'>, { id, key = id }: Thing) =>
  pathsBy === 'id' || key === 'new' ? id : key

/** The name of an item, or of what a form sends. It is the key or the id if nothing of the name can be seen. */
export function titleOf({ nameOf }: Pick<Resource, 'nameOf'>, item: object, lookups: Lookups): string {
  const { name, key, id = '' }: Partial<Thing> = Object(item)
  return nameOr(nameOf === undefined ? name : nameOf(item, lookups), key ?? id)
}
