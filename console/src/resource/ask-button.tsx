import { type ComponentProps, useState } from 'react'
import { Button } from '../ui/button'
import { ConfirmWrite } from './confirm-write'

type AskButtonProps<Answer extends object> = Omit<ComponentProps<typeof ConfirmWrite<Answer>>, 'onClose'> & {
  label: string
  button?: Omit<ComponentProps<typeof Button>, 'onClick' | 'children'>
}

/** A button that asks before a write. `children` are the text of the question. */
export function AskButton<Answer extends object>({ label, button, ...question }: AskButtonProps<Answer>) {
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setAsked(true)}>
        {label}
      </Button>
      {isAsked && <ConfirmWrite {...question} onClose={() => setAsked(false)} />}
    </>
  )
}
