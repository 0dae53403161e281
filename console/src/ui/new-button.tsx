import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { Button } from './button'

/**
 * A button that opens the form of a new item, such as "New metric". The form has an address of its own.
 *
 * @param props.one the name of one item, such as "metric"
 * @param props.search the part of the address after `?`
 */
export function NewButton({
  one,
  to,
  search,
  look = 'primary',
  isSmall = false,
}: {
  one: string
  to: string
  search?: Record<string, string>
  look?: 'primary' | 'plain'
  isSmall?: boolean
}) {
  const navigate = useNavigate()
  return (
    <Button
      look={look}
      isSmall={isSmall}
      onClick={() => navigate({ to, ...(search !== undefined && { search }), resetScroll: false })}
    >
      <Plus size={isSmall ? 15 : 16} aria-hidden="true" />
      New {one}
    </Button>
  )
}
