import { useNavigate } from '@tanstack/react-router'
import { Button } from './button'
import { Icon } from './icon'
import { targetOf } from './table'

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
}: {
  one: string
  to: string
  look?: 'primary' | 'plain'
  isSmall?: boolean
}) {
  const navigate = useNavigate()
  return (
    <Button look={look} isSmall={isSmall} onClick={() => navigate({ ...targetOf(to), resetScroll: false })}>
      <Icon name="plus" size={isSmall ? 15 : 16} />
      New {one}
    </Button>
  )
}
