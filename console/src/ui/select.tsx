import type { ComponentProps } from 'react'
import { classes } from './classes'

/** A choice of a list. */
export type Option = { value: string; label: string }

/** A list to choose from. `none` is the text of the empty choice. */
export const Select = ({
  options,
  none,
  className,
  ...props
}: ComponentProps<'select'> & { options: readonly Option[]; none?: string | undefined }) => (
  <select {...props} className={classes('control', className)}>
    {none !== undefined && <option value="">{none}</option>}
    {options.map(({ value, label }) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </select>
)
