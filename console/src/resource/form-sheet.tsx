import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { FieldValues } from 'react-hook-form'
import { useEntriesId } from '../session/session-context'
import { Button } from '../ui/button'
import { Sheet, Unsaved } from '../ui/dialog'
import { Notice } from '../ui/page'
import { type FormOptions, useEntryForm } from './entries'
import { FormFields } from './fields'
import { type LookupName, type Lookups, useLookups } from './lookups'
import { Meanwhile } from './meanwhile'
import type { Field, Told } from './resource'

/** A form with entries. */
type FormProps<Values extends FieldValues, Draft, Answer extends object> = Omit<
  FormOptions<Values, Draft, Answer>,
  'id' | 'scope'
> & {
  /** Names the form and what is written, such as `/metrics/new`. */
  name: string
  /** The text of the button that submits. */
  submit: string
  /** The other resources that the fields name. */
  needs?: readonly LookupName[] | undefined
}

type FormSheetProps<Values extends FieldValues, Draft, Answer extends object> = FormProps<
  Values,
  Draft,
  Answer
> & {
  about?: ReactNode
  /** Is false for an existing item: then fields may be fixed. */
  isNew?: boolean
  /** The text of a button that submits, and leaves the form open for another one. */
  submitAndStay?: string | undefined
  /** The effect in words. Null while that can't be said. */
  preview?: Told<[values: Values, lookups: Lookups], string | null> | undefined
  /** Is called after the entries were saved, if the form is still open. By default it closes. */
  onDone?(answer: Answer): void
  onClose: () => void
}

/** A form beside the page. The address of the page may ask for the entries of a write that was not done. */
export function FormSheet<Values extends FieldValues, Draft, Answer extends object>(
  props: FormSheetProps<Values, Draft, Answer>,
) {
  const id = useEntriesId(props.name)
  return <OpenSheet key={id} id={id} {...props} />
}

function OpenSheet({
  about,
  isNew = true,
  submitAndStay,
  preview,
  onClose,
  onDone = onClose,
  ...options
}: FormSheetProps<FieldValues, unknown, object> & { id: string }) {
  const form = useFormParts(options, isNew)
  const { counted, lookups, isSaving, drop } = form
  // Entries are stored a moment after each change. One that was just undone may still be stored.
  const close = () => {
    if (!isSaving) drop()
    onClose()
  }
  return (
    <Sheet title={options.title} about={about} hasEntries={form.hasEntries} onDiscard={drop} onClose={close}>
      <form
        onSubmit={form.submitThen(onDone)}
        noValidate
        className="flex min-h-0 flex-1 flex-col"
        aria-busy={isSaving}
      >
        {/* A div scrolls: Chromium scrolls a fieldset to its top when a list in it shows a message. */}
        <div className="sheet-body">
          <fieldset disabled={isSaving} className="contents">
            {form.restored}
            {form.show(options.fields)}
            {form.changedMeanwhile}
          </fieldset>
        </div>
        <div className="sheet-foot">
          {preview !== undefined && (
            <InWords>{preview(counted, lookups) ?? 'Fill in the fields to see what happens.'}</InWords>
          )}
          {form.notSaved}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={close}>{isSaving ? 'Close' : 'Cancel'}</Button>
            {submitAndStay !== undefined && (
              <Button
                isBusy={isSaving}
                onClick={({ currentTarget: { form: element } }) => {
                  const focus = () => element?.querySelector<HTMLElement>('input, select, textarea')?.focus()
                  form.submitThen(focus, options.values)()
                }}
              >
                {submitAndStay}
              </Button>
            )}
            {form.save()}
          </div>
        </div>
      </form>
    </Sheet>
  )
}

type PageFormProps<Values extends FieldValues, Draft, Answer extends object> = FormProps<
  Values,
  Draft,
  Answer
> & {
  isUnchanged?(values: Values): boolean
  /** The form. The function shows some of its fields. */
  children(show: (fields: readonly Field<Values>[]) => ReactNode, values: Values): ReactNode
}

/** A form that is a part of a page. It asks before another page opens with entries. */
export function PageForm<Values extends FieldValues, Draft, Answer extends object>(
  props: PageFormProps<Values, Draft, Answer>,
) {
  const id = useEntriesId(props.name)
  return <OpenPageForm key={id} id={id} {...props} />
}

function OpenPageForm({
  isUnchanged = () => false,
  children,
  ...options
}: PageFormProps<FieldValues, unknown, object> & { id: string }) {
  const form = useFormParts(options, false)
  const { counted, isSaving } = form
  return (
    <form onSubmit={form.submitThen()} noValidate aria-busy={isSaving}>
      <Unsaved hasEntries={form.hasEntries} onDiscard={form.drop} />
      <fieldset disabled={isSaving} className="flex min-w-0 flex-col gap-6">
        {form.restored}
        {children(form.show, counted)}
        {form.changedMeanwhile}
        {form.notSaved}
        <div>{form.save(isUnchanged(counted))}</div>
      </fieldset>
    </form>
  )
}

/** The parts of a form, which a sheet and a page put in their places. */
function useFormParts(
  { name, submit, needs, ...options }: FormProps<FieldValues, unknown, object> & { id: string },
  isNew: boolean,
) {
  const lookups = useLookups(needs)
  const entryForm = useEntryForm({ ...options, scope: isNew ? null : name })
  const { form, values, isSaving, meanwhile, problem, isRestored, drop } = entryForm
  return {
    ...entryForm,
    lookups,
    /** Says that entries of before are back, and drops them on demand. */
    restored: isRestored && (
      <Notice
        action={
          <Button isSmall onClick={drop}>
            Discard them
          </Button>
        }
      >
        Your entries from before are back. They are not saved.
      </Notice>
    ),
    show: (fields: readonly Field[]) => <FormFields {...{ fields, form, values, lookups, isNew }} />,
    changedMeanwhile: meanwhile && <Meanwhile {...meanwhile} lookups={lookups} />,
    notSaved: <NotSaved problem={problem} look={options.look ?? options.path} />,
    /** The button that submits. */
    save: (isDisabled = false) => (
      <Button type="submit" look="primary" isBusy={isSaving} disabled={isDisabled || meanwhile?.isNew}>
        {isSaving ? 'Saving…' : meanwhile ? 'Save over it' : submit}
      </Button>
    ),
  }
}

/** Why entries were not saved, besides the messages at fields. */
export function NotSaved({
  problem,
  look,
}: {
  problem: { others: readonly string[]; unknown: string | null } | undefined
  /** The page where people can look. */
  look: string
}) {
  if (problem === undefined || (problem.others.length === 0 && problem.unknown === null)) return null
  return (
    <Notice tone="danger">
      {problem.unknown !== null && (
        <>
          {problem.unknown}.{' '}
          <Link to={look} className="font-medium underline">
            Look
          </Link>{' '}
          before you try again.{' '}
        </>
      )}
      {problem.others.join(' ')}
    </Notice>
  )
}

/** The item of a form in words. It changes while one types. */
export const InWords = ({ children }: { children: ReactNode }) => (
  <div className="rounded-md bg-accent-soft px-4 py-2.5">
    <p className="text-sm font-medium text-accent">In words</p>
    <p aria-live="polite">{children}</p>
  </div>
)
