import { Link } from '@tanstack/react-router'
import { type ComponentProps, type ReactNode, useRef } from 'react'
import type { FieldValues } from 'react-hook-form'
import { useEntriesId } from '../session/session-context'
import { Button } from '../ui/button'
import { Sheet, Unsaved } from '../ui/dialog'
import { Notice } from '../ui/page'
import { useEntryForm } from './entries'
import { FormFields } from './fields'
import { type Lookups, useLookups } from './lookups'
import { Meanwhile } from './meanwhile'
import type { Field } from './resource'

type FormSheetProps<Values extends FieldValues, Draft, Answer extends object> = Omit<
  Parameters<typeof useEntryForm<Values, Draft, Answer>>[0],
  'id' | 'scope'
> & {
  /** Names the form and what is written, such as `/metrics/new`. */
  name: string
  about?: ReactNode
  /** Is false for an existing item: then fields may be fixed. */
  isNew?: boolean
  /** The text of the button that submits. */
  submit: string
  /** The text of a button that submits, and leaves the form open for another one. */
  submitAndStay?: string | undefined
  /** The effect in words. Null while that can't be said. */
  preview?: ((values: Values, lookups: Lookups) => string | null) | undefined
  /** The other resources that the fields name. */
  lookups?: Lookups
  /** Is called after the entries were saved, if the form is still open. By default it closes. */
  onDone?: (answer: Answer) => void
  onClose: () => void
}

/** A form beside the page. The address of the page may ask for the entries of a write that was not done. */
export function FormSheet<Values extends FieldValues, Draft, Answer extends object>(
  props: FormSheetProps<Values, Draft, Answer>,
) {
  const id = useEntriesId(props.name)
  return <OpenForm key={id} id={id} {...props} />
}

function OpenForm<Values extends FieldValues, Draft, Answer extends object>({
  name,
  about,
  isNew = true,
  submit,
  submitAndStay,
  preview,
  lookups: given,
  onClose,
  onDone = onClose,
  ...options
}: FormSheetProps<Values, Draft, Answer> & { id: string }) {
  const { title, path, look = path } = options
  const none = useLookups()
  const lookups = given ?? none
  const entryForm = useEntryForm({ ...options, scope: isNew ? null : name })
  const { form, values, isSaving, meanwhile, problem, isRestored, hasEntries, drop, submitThen } = entryForm
  const element = useRef<HTMLFormElement>(null)
  const submitAndGoOn = submitThen(() => {
    element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, options.values)
  return (
    <Sheet title={title} about={about} hasEntries={hasEntries} onDiscard={drop} onClose={onClose}>
      <form
        ref={element}
        onSubmit={submitThen(onDone)}
        noValidate
        className="flex min-h-0 flex-1 flex-col"
        aria-busy={isSaving}
      >
        <fieldset disabled={isSaving} className="sheet-body min-w-0">
          {isRestored && <Restored onDrop={drop} />}
          <FormFields fields={options.fields} {...{ form, values, lookups, isNew }} />
          {meanwhile && <Meanwhile {...meanwhile} lookups={lookups} />}
        </fieldset>
        <div className="sheet-foot">
          {preview !== undefined && (
            <InWords>{preview(values, lookups) ?? 'Fill in the fields to see what happens.'}</InWords>
          )}
          <NotSaved problem={problem} look={look} />
          <div className="flex flex-wrap justify-end gap-2">
            <Button
              onClick={() => {
                if (!isSaving) drop()
                onClose()
              }}
            >
              {isSaving ? 'Close' : 'Cancel'}
            </Button>
            {submitAndStay !== undefined && (
              <Button isBusy={isSaving} onClick={submitAndGoOn}>
                {submitAndStay}
              </Button>
            )}
            <SaveButton isSaving={isSaving} meanwhile={meanwhile}>
              {submit}
            </SaveButton>
          </div>
        </div>
      </form>
    </Sheet>
  )
}

type PageFormProps<Values extends FieldValues, Draft, Answer extends object> = Omit<
  Parameters<typeof useEntryForm<Values, Draft, Answer>>[0],
  'id' | 'scope'
> & {
  /** Names the form and what is written, such as `/settings`. */
  name: string
  lookups: Lookups
  submit: string
  isUnchanged?: (values: Values) => boolean
  /** The form. The function shows some of its fields. */
  children: (show: (fields: readonly Field<Values>[]) => ReactNode, values: Values) => ReactNode
}

/** A form that is a part of a page. It asks before another page opens with entries. */
export function PageForm<Values extends FieldValues, Draft, Answer extends object>(
  props: PageFormProps<Values, Draft, Answer>,
) {
  const id = useEntriesId(props.name)
  return <OpenPageForm key={id} id={id} {...props} />
}

function OpenPageForm<Values extends FieldValues, Draft, Answer extends object>({
  name,
  lookups,
  submit,
  isUnchanged = () => false,
  children,
  ...options
}: PageFormProps<Values, Draft, Answer> & { id: string }) {
  const entryForm = useEntryForm({ ...options, scope: name })
  const { form, values, isSaving, meanwhile, problem, isRestored, hasEntries, drop, submitThen } = entryForm
  return (
    <form onSubmit={submitThen()} noValidate aria-busy={isSaving}>
      <Unsaved hasEntries={hasEntries} onDiscard={drop} />
      <fieldset disabled={isSaving} className="flex min-w-0 flex-col gap-6">
        {isRestored && <Restored onDrop={drop} />}
        {children(
          (fields) => (
            <FormFields {...{ fields, form, values, lookups }} isNew={false} />
          ),
          values,
        )}
        {meanwhile && <Meanwhile {...meanwhile} lookups={lookups} />}
        <NotSaved problem={problem} look={options.look ?? options.path} />
        <div>
          <SaveButton isSaving={isSaving} meanwhile={meanwhile} disabled={isUnchanged(values)}>
            {submit}
          </SaveButton>
        </div>
      </fieldset>
    </form>
  )
}

/** The button that submits a form. */
const SaveButton = ({
  isSaving,
  meanwhile,
  disabled = false,
  children,
}: Pick<ComponentProps<'button'>, 'disabled' | 'children'> & {
  isSaving: boolean
  meanwhile: { isNew: boolean } | undefined
}) => (
  <Button type="submit" look="primary" isBusy={isSaving} disabled={disabled || meanwhile?.isNew}>
    {isSaving ? 'Saving…' : meanwhile ? 'Save over it' : children}
  </Button>
)

/** Says that entries of before are back, and drops them on demand. */
const Restored = ({ onDrop }: { onDrop: () => void }) => (
  <Notice
    action={
      <Button isSmall onClick={onDrop}>
        Discard them
      </Button>
    }
  >
    Your entries from before are back. They are not saved.
  </Notice>
)

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
