import { type ComponentProps, useState } from 'react'
import { ChangedMeanwhile } from '../api/errors'
import { Button } from '../ui/button'
import { Confirm, type ConfirmProps } from '../ui/dialog'
import { NotSaved } from './form-sheet'
import { type Options, useWrite, type Write } from './writes'

type ConfirmWriteProps<Answer extends object> = Omit<ConfirmProps, 'isBusy' | 'problem' | 'onConfirm'> &
  Omit<Options, 'showsAnswer'> & {
    write: Write<Answer>
    /** Is called after the write, if the question is still open. Then it closes. */
    onDone?: ((answer: Answer) => void) | undefined
  }

/** Asks before a write that can't easily be undone. It shows the answer while it is open. */
export function ConfirmWrite<Answer extends object>({
  write,
  path,
  look,
  scope,
  isWarningRefused,
  onDone,
  ...props
}: ConfirmWriteProps<Answer>) {
  const { begin, isBusy, problem } = useWrite<Answer>({
    path,
    look,
    scope,
    isWarningRefused,
    showsAnswer: true,
  })
  // People have seen what was there when they were asked, and then what they are told.
  const [{ etag, review }, setSeen] = useState(write)
  const onSuccess = (answer: Answer) => {
    onDone?.(answer)
    props.onClose()
  }
  const onError = (error: unknown) => {
    if (error instanceof ChangedMeanwhile) setSeen((before) => ({ ...before, etag: error.etag }))
  }
  return (
    <Confirm
      {...props}
      isBusy={isBusy}
      problem={problem && <NotSaved problem={problem} look={look ?? path} />}
      onConfirm={() => begin({ ...write, etag, review }, { onSuccess, onError })}
    />
  )
}

type AskButtonProps<Answer extends object> = Omit<ConfirmWriteProps<Answer>, 'onClose'> & {
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
