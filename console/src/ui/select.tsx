import type { ComponentProps } from 'react'
import { classes } from './classes'
import { useTies } from './labelled'

/** A choice of a list. */
export type Option = { value: string; label: string }
/** The choices of a list. Those of fixed words may be their labels by value. */
export type Options = readonly Option[] | Readonly<Record<string, string>>

const isList = (given: Options): given is readonly Option[] => Array.isArray(given)
export const optionsOf = (given: Options): readonly Option[] =>
  isList(given) ? given : Object.entries(given).map(([value, label]) => ({ value, label }))

/** A list to choose from. `none` is the text of the empty choice. */
export const Select = ({
  options,
  none,
  className,
  ...props
}: ComponentProps<'select'> & { options: Options; none?: string | undefined }) => (
  <select {...useTies()} {...props} className={classes('control', className)}>
    {none !== undefined && <option value="">{none}</option>}
    {optionsOf(options).map(({ value, label }) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </select>
)
