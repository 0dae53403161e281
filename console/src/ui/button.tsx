import { useNavigate } from '@tanstack/react-router'
import { type ComponentProps, useId } from 'react'
import { classes } from './classes'
import { Icon } from './icon'
import { targetOf } from './table'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'

const LOOKS: Readonly<Record<Look, string>> = {
  primary: 'border-transparent bg-accent text-on-accent hover:not-disabled:bg-accent-hover',
  plain: 'border-line-button bg-surface text-text shadow-card hover:not-disabled:bg-hover',
  quiet: 'border-transparent text-quiet hover:not-disabled:bg-hover hover:not-disabled:text-text',
  danger: 'border-transparent bg-danger text-on-danger hover:not-disabled:bg-danger-hover',
}

/** The classes of a button, also for links that look like one. */
export const buttonClasses = (look: Look = 'plain', isSmall = false): string =>
  classes(
    'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors active:not-disabled:brightness-95 disabled:opacity-55 dark:active:not-disabled:brightness-110',
    isSmall ? 'min-h-8 px-2.5 text-sm pointer-coarse:min-h-9' : 'min-h-9 px-3.5 pointer-coarse:min-h-11',
    LOOKS[look],
  )

type ButtonProps = ComponentProps<'button'> & {
  look?: Look
  isSmall?: boolean
  /** Is true while the work that it began goes on. It can't be pressed again meanwhile. */
  isBusy?: boolean
}

export function Button({
  look = 'plain',
  isSmall = false,
  isBusy = false,
  className,
  ...props
}: ButtonProps) {
  return (
    <button
      type="button"
      aria-busy={isBusy || undefined}
      // The field with the focus keeps it: a message that appears when it is left would move the button away.
      onMouseDown={props.type === 'submit' ? (event) => event.preventDefault() : undefined}
      {...props}
      disabled={props.disabled || isBusy}
      className={classes(buttonClasses(look, isSmall), className)}
    />
  )
}

/** A button with a symbol alone. Its label is for screen readers, and is shown as a hint. */
export const IconButton = ({ label, className, ...props }: ButtonProps & { label: string }) => (
  <Button
    look="quiet"
    aria-label={label}
    title={label}
    {...props}
    className={classes('aspect-square px-0!', className)}
  />
)

/** A switch with its label. */
export function Toggle({
  label,
  hint,
  ...props
}: Omit<ComponentProps<'input'>, 'type'> & { label: string; hint?: string | undefined }) {
  const id = useId()
  return (
    <div className="flex items-start gap-3">
      <input
        type="checkbox"
        role="switch"
        aria-checked={props.checked === true}
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        {...props}
        className="switch mt-0.5"
      />
      <div>
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-quiet">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

/**
 * A button that opens the form of a new item, such as "New metric". The form has an address of its own.
 *
 * @param props.one the name of one item, such as "metric"
 */
export function NewButton({
  one,
  to,
  look = 'primary',
  isSmall = false,
}: Pick<ButtonProps, 'look' | 'isSmall'> & { one: string; to: string }) {
  const navigate = useNavigate()
  return (
    <Button look={look} isSmall={isSmall} onClick={() => navigate({ ...targetOf(to), resetScroll: false })}>
      <Icon name="plus" size={isSmall ? 15 : 16} />
      New {one}
    </Button>
  )
}
