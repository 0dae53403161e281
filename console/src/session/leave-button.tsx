import { type ComponentProps, useState } from 'react'
import { Button } from '../ui/button'
import { Discard } from '../ui/dialog'
import { useKept } from './session-context'

/** A button that leaves the session or the tenant. It asks if entries or writes on their way would be lost. */
export function LeaveButton({
  onLeave,
  ...props
}: Omit<ComponentProps<typeof Button>, 'onClick'> & { onLeave: () => void }) {
  const kept = useKept()
  const [lost, setLost] = useState<readonly string[]>([])
  const leave = () => {
    const titles = kept.titles()
    if (titles.length === 0) onLeave()
    else setLost(titles)
  }
  return (
    <>
      <Button {...props} onClick={leave} />
      {lost.length > 0 && (
        <Discard onDiscard={onLeave} onKeep={() => setLost([])}>
          These are not saved: {lost.join(', ')}.
        </Discard>
      )}
    </>
  )
}
