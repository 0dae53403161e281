import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog } from '@base-ui/react/dialog'
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { messageOf } from '../api/errors'
import { Button, buttonClasses } from './button'
import { classes } from './classes'
import { useFocusReturn } from './heading'
import { Notice } from './page'
import { toasts } from './toasts'

/** The classes of the area behind a dialog. */
export const BACKDROP =
  'fixed inset-0 z-40 bg-backdrop transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0'

/**
 * A form beside the page. It is a dialog: the page behind it can't be used meanwhile. It asks before it is
 * closed with entries, also by the Back button of the browser. The form's own Cancel button does not ask.
 */
export function Sheet({
  title,
  about,
  onClose,
  children,
}: {
  title: string
  about?: ReactNode
  onClose: () => void
  children: ReactNode
}) {
  const popup = useRef<HTMLDivElement>(null)
  const finalFocus = useFocusReturn()
  const hasInput = useRef(false)
  // The first field, not the button that closes.
  const first = () => popup.current?.querySelector<HTMLElement>('form :is(input, select, textarea)') ?? true
  // A message of the write before would cover the buttons, above all on a phone.
  useEffect(() => toasts.close(), [])
  const [isAsking, setAsking] = useState(false)
  // Escape, the cross, or a press beside the form may be a slip.
  const dismiss = () => (hasInput.current ? setAsking(true) : onClose())
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && dismiss()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup
          ref={popup}
          initialFocus={first}
          finalFocus={finalFocus}
          onInput={() => {
            hasInput.current = true
          }}
          onReset={() => {
            hasInput.current = false
          }}
          className="sheet fixed inset-y-0 right-0 z-40 flex w-full max-w-lg flex-col bg-raised shadow-raised outline-none transition-transform duration-150 data-ending-style:translate-x-6 data-starting-style:translate-x-6 sm:border-l sm:border-line"
        >
          <header
            className={classes(
              'flex items-start justify-between gap-4 bg-raised pt-4 pr-4 pl-6 low:sticky low:top-0 low:z-10 low:py-1.5',
              about === undefined && 'border-b border-line pb-4',
            )}
          >
            <Dialog.Title className="line-clamp-3 min-w-0 pt-0.5 text-xl font-semibold tracking-tight wrap-anywhere low:line-clamp-1 low:text-lg">
              {title}
            </Dialog.Title>
            <Dialog.Close
              className={classes(buttonClasses('quiet', true), 'aspect-square px-0!')}
              aria-label="Close"
              title="Close"
            >
              <X size={18} aria-hidden="true" />
            </Dialog.Close>
          </header>
          {about !== undefined && (
            <Dialog.Description className="-mt-1 border-b border-line pr-14 pb-4 pl-6 text-quiet">
              {about}
            </Dialog.Description>
          )}
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
      {isAsking && (
        <Confirm
          title="Close without saving?"
          confirm="Confirm: close"
          isDangerous
          onConfirm={async () => onClose()}
          onClose={() => setAsking(false)}
        >
          Your entries will be lost.
        </Confirm>
      )}
      <Unsaved
        hasEntries={() => hasInput.current}
        leaves={isHistoryStep}
        title="Close without saving?"
        confirm="Confirm: close"
      />
    </Dialog.Root>
  )
}

/** Whether a step of the browser, such as Back, leads away. A link or a form does not. */
const isHistoryStep: ShouldBlockFn = ({ action }) => action !== 'PUSH' && action !== 'REPLACE'

/** Whether another page opens. The same one may change what is after `?`. */
const isOtherPage: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname

/**
 * Asks before entries are lost, because people go to another page, or close the tab.
 *
 * @param props.hasEntries whether there are entries that are not saved
 * @param props.leaves whether a way to another address loses them: at first, each way to another page
 */
export function Unsaved({
  hasEntries,
  leaves = isOtherPage,
  title = 'Leave without saving?',
  confirm = 'Confirm: leave',
}: {
  hasEntries: () => boolean
  leaves?: ShouldBlockFn
  title?: string
  confirm?: string
}) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: (way) => hasEntries() && leaves(way),
    enableBeforeUnload: hasEntries,
    withResolver: true,
  })
  if (status !== 'blocked') return null
  return (
    <Confirm title={title} confirm={confirm} isDangerous onConfirm={async () => proceed()} onClose={reset}>
      Your entries will be lost.
    </Confirm>
  )
}

type ConfirmProps = {
  title: string
  /** The effect, and whether it can be undone. */
  children: ReactNode
  /** The text of the button. It begins with "Confirm". */
  confirm: string
  isDangerous?: boolean
  /** The text that has to be typed before, such as the id of a user who is erased. */
  typed?: { label: string; text: string }
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

/** Asks before something is done that can't easily be undone. */
export function Confirm({
  title,
  children,
  confirm,
  isDangerous = false,
  typed,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const finalFocus = useFocusReturn()
  const [given, setGiven] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const act = async () => {
    setBusy(true)
    setError(null)
    try {
      await onConfirm()
      onClose()
    } catch (failure) {
      setError(messageOf(failure))
      setBusy(false)
    }
  }
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup finalFocus={finalFocus} className="question max-w-md">
          <div>
            <AlertDialog.Title className="text-xl font-semibold tracking-tight">{title}</AlertDialog.Title>
            <AlertDialog.Description className="mt-2 text-quiet" render={<div />}>
              {children}
            </AlertDialog.Description>
          </div>
          {typed !== undefined && (
            <label className="flex flex-col gap-1.5">
              <span className="font-medium">{typed.label}</span>
              <input
                className="control"
                value={given}
                onChange={({ target }) => setGiven(target.value)}
                autoComplete="off"
                spellCheck={false}
              />
            </label>
          )}
          {error !== null && <Notice tone="danger">{error}</Notice>}
          <div className="flex flex-wrap justify-end gap-2">
            <AlertDialog.Close className={buttonClasses('plain')}>Cancel</AlertDialog.Close>
            <Button
              look={isDangerous ? 'danger' : 'primary'}
              isBusy={isBusy}
              disabled={typed !== undefined && given !== typed.text}
              onClick={act}
            >
              {confirm}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
