import { type ComponentProps, type ReactNode, useId } from 'react'
import { classes } from './classes'
import { Fault } from './page'
import { useTyped } from './typed'

/** A label, a control, a hint and a message, tied together for screen readers. */
export function Labelled({
  label,
  hint,
  message,
  isOptional = false,
  children,
}: {
  label: string
  hint?: ReactNode
  message?: string | undefined
  isOptional?: boolean
  children: (props: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean
  }) => ReactNode
}) {
  const id = useId()
  const described = [message !== undefined && `${id}-message`, hint !== undefined && `${id}-hint`]
    .filter(Boolean)
    .join(' ')
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {isOptional && <span className="text-sm text-quiet">optional</span>}
      </div>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': message !== undefined })}
      <Fault id={`${id}-message`}>{message}</Fault>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-quiet">
          {hint}
        </p>
      )}
    </div>
  )
}

/** A field for an id or a search. Browsers suggest and correct nothing in it. */
export const PlainInput = ({ className, ...props }: ComponentProps<'input'>) => (
  <input autoComplete="off" spellCheck={false} {...props} className={classes('control', className)} />
)

/** A field whose text is part of the address. It is passed on a moment after it was typed. */
export function TypedInput({
  value,
  onType,
  ...props
}: ComponentProps<'input'> & { value: string; onType: (text: string) => void }) {
  const [typed, setTyped] = useTyped(value, onType)
  return <PlainInput {...props} value={typed} onChange={({ target }) => setTyped(target.value)} />
}
