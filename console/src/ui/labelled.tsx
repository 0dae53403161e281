import { type ComponentProps, createContext, type ReactNode, useContext, useId } from 'react'
import { classes } from './classes'
import { Fault } from './page'
import { useTyped } from './typed'

/** What ties a control to the label, the hint and the message around it. */
const Ties = createContext<Pick<ComponentProps<'input'>, 'id' | 'aria-describedby' | 'aria-invalid'>>({})
export const useTies = () => useContext(Ties)

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
  children: ReactNode
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
      <Ties value={{ id, 'aria-describedby': described || undefined, 'aria-invalid': message !== undefined }}>
        {children}
      </Ties>
      <Fault id={`${id}-message`}>{message}</Fault>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-quiet">
          {hint}
        </p>
      )}
    </div>
  )
}

/** A field for an id or a search. Browsers suggest and correct nothing in it, and phones write no capital. */
export const PlainInput = ({ className, ...props }: ComponentProps<'input'>) => (
  <input
    autoComplete="off"
    autoCapitalize="none"
    spellCheck={false}
    {...useTies()}
    {...props}
    className={classes('control', className)}
  />
)

/** A field for a text of several lines. */
export const LongText = (props: ComponentProps<'textarea'>) => (
  <textarea className="control" rows={3} {...useTies()} {...props} />
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
