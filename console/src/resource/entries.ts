import { standardSchemaResolver } from '@hookform/resolvers/standard-schema'
import { useEffect, useId, useState } from 'react'
import { type FieldValues, get, set, useForm, useFormState } from 'react-hook-form'
import type { z } from 'zod'
import { messagesByField } from '../api/errors'
import type { Problem } from '../session/kept'
import { useKept } from '../session/session-context'
import { useSettled } from '../ui/typed'
import { useFormValues } from './form-values'
import { changedFields, isSame, readAgain, type Stored } from './meanwhile'
import type { Field } from './resource'
import { changed } from './values'
import { PAUSE, problemOf, shownProblem, useWrite, type Write } from './writes'

/** A reset of all values, also of those that were changed. */
const ALL = { keepDirtyValues: false }

export type FormOptions<Values extends FieldValues, Draft, Answer extends object> = {
  /** The id of the entries (`useEntriesId`). A form with another one is another form. */
  id: string
  title: string
  /** The beginning of the keys of all reads that the write changes. */
  path: string
  look?: string | undefined
  /** Names what is written, so that no two writes of it are on their way. Null for a new item. */
  scope: string | null
  isWarningRefused?: boolean | undefined
  fields: readonly Field<Values>[]
  schema: z.ZodType<Draft, FieldValues>
  /** The values at first, and those of an item that changes meanwhile. */
  values: Values
  /** What others may change too. Nothing of it is overwritten unseen. */
  stored?: Stored<Values> | null | undefined
  write(draft: Draft, values: Values): Write<Answer>
}

/**
 * A form whose entries are kept until they are saved or dropped. While they are saved, they can't be changed. Each
 * error of the interface is shown at its field.
 */
export function useEntryForm({
  id,
  title,
  scope,
  fields,
  schema,
  values: latest,
  stored,
  write: writeOf,
  ...options
}: FormOptions<FieldValues, unknown, object>) {
  const kept = useKept()
  const [restored] = useState(() => kept.take(id))
  const [pathname] = useState(location.pathname)
  const [isRestored, setRestored] = useState(restored === undefined)
  const [problem, setProblem] = useState<Problem | undefined>()
  const own = useId()
  const all = fields.map(({ name }) => name)
  // What people have seen: it stays while there are entries.
  const [first, setFirst] = useState<FieldValues>({ ...latest, ...restored?.seen })
  // The values stay as they are: the draft is made when they are sent.
  const check = standardSchemaResolver(schema, undefined, { raw: true })
  /** The values, with the first ones in fields that are not shown: people could not correct those. */
  const shownOf = (given: FieldValues) => {
    const shown = structuredClone(given)
    for (const { name, when } of fields) if (when?.(given) === false) set(shown, name, get(first, name))
    return shown
  }
  const form = useForm({
    resolver: async (given, context, options) => {
      const checked = await check(shownOf(given), context, options)
      for (const { name, when } of fields) {
        const { ref } = Object(get(options.fields, name))
        // The value of a date that is not complete is empty.
        if (ref?.validity?.badInput === true && when?.(given) !== false)
          set(checked.errors, name, { type: 'incomplete', message: 'Complete this, or empty it.' })
      }
      return checked
    },
    values: first,
    resetOptions: { keepDirtyValues: true },
    mode: 'onTouched',
  })
  const values = useFormValues(form, fields, scope === null)
  useFormState({ control: form.control })
  const { begin, isBusy, isOnItsWay } = useWrite({ ...options, scope: scope ?? own, showsAnswer: true })
  /** By field, not by what holds several: when entries come back, others may have changed the rest of that. */
  const byField = (given: object) => Object.fromEntries(all.map((name) => [name, get(given, name)]))
  // A value that a field has got by itself is no entry, but it is kept with the entries. The form knows it at once:
  // what was drawn lags behind, and a press may come before it is drawn again.
  const hasChanged = () => !isSame(byField(form.getValues()), byField(form.control._defaultValues))
  const changes = hasChanged() ? changed(byField(values), byField(first)) : {}
  const etag = stored?.item.etag
  const seen = etag === undefined ? undefined : first
  const isFree = isRestored && !hasChanged()
  if ((isFree || etag === undefined) && JSON.stringify(first) !== JSON.stringify(latest)) setFirst(latest)
  const news = etag === undefined ? [] : changedFields(fields, first, values, latest)
  // A press just after there is another state is none about that.
  const isNew = useSettled(etag ?? '', PAUSE) !== (etag ?? '')
  const take = (name: string) => {
    const next = structuredClone(first)
    set(next, name, get(latest, name))
    setFirst(next)
    form.setValue(name, get(latest, name), { shouldDirty: true, shouldValidate: true })
  }

  // Shows what the interface objects to. The first field of it gets the focus, once it can have it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each problem is shown once.
  useEffect(() => {
    if (problem === undefined || isBusy) return
    const { byField } = messagesByField(problem.objections, all)
    for (const name of all.toReversed()) {
      const message = byField.get(name)
      if (message !== undefined) form.setError(name, { type: 'server', message }, { shouldFocus: true })
    }
  }, [problem, isBusy])
  // biome-ignore lint/correctness/useExhaustiveDependencies: entries come back once.
  useEffect(() => {
    if (restored === undefined) return
    for (const [name, value] of Object.entries(restored.values))
      form.setValue(name, value, { shouldDirty: true })
    setRestored(true)
    setProblem(restored.problem)
  }, [])

  const text = JSON.stringify(changes)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has the changes.
  useEffect(() => {
    // Who has followed a link sees the form no more, also while the next page is loading.
    if (!isRestored || isBusy || location.pathname !== pathname) return
    const place = location.pathname + location.search
    if (text === '{}') kept.drop(id)
    else kept.set(id, { title, place, values: changes, seen, problem })
  }, [text, first, problem, isRestored, isBusy, kept, id, title])

  return {
    form,
    values,
    /** Those that count. */
    counted: shownOf(values),
    isSaving: isBusy,
    /** What was changed since people have seen it: both values, and how they take the new one. */
    meanwhile:
      stored && news.length > 0 ? { changed: news, mine: values, stored, isNew, onTake: take } : undefined,
    /** Why it was not saved, besides the messages at fields. */
    problem: problem && shownProblem(problem, all),
    isRestored: restored !== undefined && text !== '{}',
    /** Asks the form itself: what is kept and drawn follows a moment later. */
    hasEntries: () => !isOnItsWay() && hasChanged(),
    /** Drops the entries. */
    drop: () => {
      setProblem(undefined)
      form.reset(undefined, ALL)
      kept.drop(id)
    },
    /** Sends the entries. `onDone` is called if the form is still open then. `next` is what it has then. */
    submitThen: (onDone?: (answer: object) => void, next?: FieldValues) =>
      form.handleSubmit(
        (given) => {
          setProblem(undefined)
          begin(
            {
              ...writeOf(schema.parse(given), given),
              entries: { id, values: changes, seen },
              etag,
              review: async (_admin, queries) => {
                const now = stored && (await readAgain(queries, stored))
                const values = now?.valuesOf(now.item) ?? latest
                return changedFields(fields, latest, given, values).length === 0 ? now?.item.etag : undefined
              },
            },
            {
              onSuccess: (answer) => {
                form.reset(next ?? given, ALL)
                onDone?.(answer)
              },
              onError: (error, write) => setProblem(problemOf(error, write)),
            },
          )
        },
        () => setProblem(undefined),
      ),
  }
}
