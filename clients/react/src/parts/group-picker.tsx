'use client'
import { type ComponentProps, useId } from 'react'
import type { GroupData } from '../view/data.ts'
import { groupLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import { VisuallyHidden } from './visually-hidden.tsx'

export interface GroupPickerProps extends Omit<ComponentProps<'fieldset'>, 'onChange' | 'children' | 'ref'> {
  groups: readonly GroupData[]
  /** The chosen group. */
  value: GroupData | undefined
  onChange: (group: GroupData) => void
  /** The most groups that are shown as radio buttons. More groups are shown as a list. */
  mostButtons?: number | undefined
}

/** Identifies a group by its values. */
export const groupId = ({ group }: GroupData): string =>
  JSON.stringify(group.map(({ key, value }) => [key, value]).sort())

/**
 * Chooses a group of a leaderboard (L6). It consists of the browser's own radio buttons, or a `select` for
 * many groups, so arrow keys work as everywhere.
 */
export function GroupPicker({ groups, value, onChange, mostButtons = 4, ...rest }: GroupPickerProps) {
  const name = useId()
  const { labels, format } = useSettings(groupLabels)
  const chosen = value === undefined ? '' : groupId(value)
  const choose = (id: string) => {
    const group = groups.find((one) => groupId(one) === id)
    if (group !== undefined) onChange(group)
  }
  if (groups.length > mostButtons) {
    return (
      <fieldset {...rest} data-kind="select">
        <label htmlFor={name}>{labels.group}</label>
        <select id={name} value={chosen} onChange={({ target }) => choose(target.value)}>
          {value && !groups.some((one) => groupId(one) === chosen) && (
            <option value={chosen}>{labels.groupName(value, format)}</option>
          )}
          {groups.map((group) => (
            <option key={groupId(group)} value={groupId(group)}>
              {labels.groupName(group, format)}
              {group.users === undefined ? '' : ` (${format.number(group.users)})`}
              {group.isOwn && ` · ${labels.ownGroup}`}
            </option>
          ))}
        </select>
      </fieldset>
    )
  }
  return (
    <fieldset {...rest} data-kind="buttons">
      <legend>{labels.group}</legend>
      {groups.map((group) => (
        <label
          key={groupId(group)}
          title={labels.groupName(group, format)}
          data-own={group.isOwn || undefined}
        >
          <input
            type="radio"
            name={name}
            value={groupId(group)}
            checked={groupId(group) === chosen}
            onChange={({ target }) => choose(target.value)}
          />
          <span>
            <bdi>{labels.groupName(group, format)}</bdi>
            {group.users !== undefined && <small>{format.number(group.users)}</small>}
            {group.isOwn && <VisuallyHidden>{labels.ownGroup}</VisuallyHidden>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
