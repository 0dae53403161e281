/**
 * How a page of things that can be configured is declared: their list, their form, what can be done with one.
 * `resource-page.tsx` makes the pages from it. docs/console.md says how to add one.
 */
import type { Laurel, List } from '@laurel/client'
import type { ComponentType, ReactNode } from 'react'
import type { Control, DeepPartial, FieldPath, FieldValues } from 'react-hook-form'
import type { z } from 'zod'
import type { Secret } from '../session/kept'
import type { Options } from '../ui/select'
import type { Column } from '../ui/table'
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

/** The values that the form of an existing item had at first. */
export type Initial<Values extends FieldValues> = Readonly<DeepPartial<Values>>

/** The parts of a field that all kinds have. */
type FieldBase<Values extends FieldValues> = {
  name: FieldPath<Values>
  /** The name of the field in the interface, in words, such as "Metric". */
  label: string
  hint?: string | ((values: Values) => string | undefined)
  /** Is said beside the label, so that required fields need no mark. */
  isOptional?: boolean
  /** Whether the field is shown with these values. A field that is not shown is not sent. */
  when?: (values: Values) => boolean
  /** Why it can't be changed in an existing item, in words; null if it can. It is shown disabled. */
  fixed?: string | ((values: Values, initial: Initial<Values>) => string | null)
}

export type Field<Values extends FieldValues> = FieldBase<Values> &
  (
    | { kind: 'text' | 'long-text' | 'date' | 'time'; placeholder?: string }
    /** A key. It follows the name until it is edited. */
    | { kind: 'key'; from?: FieldPath<Values> }
    | { kind: 'number'; unit?: string | ((values: Values, lookups: Lookups) => string) }
    /** Its options may depend on the item: `initial` is null in the form of a new one. */
    | { kind: 'choice'; options: Options | ((initial: Initial<Values> | null) => Options) }
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
        options: (lookups: Lookups, initial: Initial<Values> | null) => Options
        /** The next step if there are no options. */
        none?: string
      }
    | { kind: 'filters'; of: 'user' | 'event' }
    | { kind: 'custom'; render: ComponentType<{ control: Control<Values>; label: string }> }
    /** A part of the form that the page itself draws. */
    | { kind: 'part'; inWords?: (values: Values, lookups: Lookups) => string }
  )

/** Something that can be done with an item by a button, such as a move to another status. */
export type Move<Item> = {
  label: string
  /** By default, the item is deleted. */
  act?: Act<Written<Item>>
  /** What happens to the item, such as `was locked`. Begins with "was" or "is". */
  did: string
  /** The status that the item then has. */
  to?: string
  /**
   * Asks before. The button of the question begins with "Confirm". `typed` is a text that has to be typed.
   */
  ask?: {
    title: string
    text: ReactNode
    typed?: { label: string; text: string }
    /** What it affects, by names and numbers. */
    affected?: ReadAffected
  }
  isDangerous?: boolean
  /** Is true if the item is gone afterwards. */
  isRemoval?: boolean
}

/** What the interface does with these items, except for updates. */
export type Operations<Item, Draft> = {
  list(query?: { limit: number; skip: number }): List<Item>
  get(key: string): PromiseLike<Item>
  create(drafts: Draft[]): PromiseLike<Written<Item>>
  delete(query: { ids: string[] }): PromiseLike<Written<Item>>
}

export type Resource<Item extends { id: string }, Values extends FieldValues, Draft> = {
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

  /** The key or id that the paths of its pages and of the interface name. */
  keyOf: (item: Item) => string
  nameOf: (item: Item, lookups: Lookups) => string
  /** The name of what a form sends, if that is not its field `name`. */
  nameOfDraft?: (draft: Draft, lookups: Lookups) => string
  statusOf?: (item: Item) => string | null

  /** The other resources that its texts and forms name. */
  needs?: readonly LookupName[]
  operations: (admin: Admin) => Operations<Item, Draft>
  update: (admin: Admin, item: Item, draft: Draft) => PromiseLike<Written<Item>>

  /** More of the page with the list. */
  ListSections?: ComponentType

  columns: (lookups: Lookups) => readonly Column<Item>[]
  /** Names and values on the page of an item, besides those of its form. */
  facts?: (item: Item, lookups: Lookups) => readonly (readonly [name: string, value: ReactNode] | null)[]
  /** More of the page of an item: charts, and what belongs to it. */
  Sections?: ComponentType<{ item: Item }>
  /** A secret of an item that was created. It is shown once. */
  secretOf?: (item: Item) => Secret | undefined
  /** The effect of the item, in words. */
  summary?: (item: Item, lookups: Lookups) => string | null

  form: {
    /** Whether people often create several in a row: the form then has a button that stays open. */
    isRepeated?: boolean
    fields: readonly Field<Values>[]
    /** Turns values into a draft. Its messages are shown as one types. */
    schema: z.ZodType<Draft>
    /** The values of a new item, or of an existing one. */
    values: (item: Item | null) => Values
    /** The effect of the item, in words. Null while that can't be said. */
    preview?: (values: Values, lookups: Lookups) => string | null
  }
  moves?: (item: Item) => readonly Move<Item>[]
}
