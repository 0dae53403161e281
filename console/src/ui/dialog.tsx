import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog } from '@base-ui/react/dialog'
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { Button, buttonClasses } from './button'
import { classes } from './classes'
import { headingOfPage, useFocusReturn } from './heading'
import { Icon } from './icon'
import { Labelled, PlainInput } from './labelled'
import { seen } from './text'
import { useToasts } from './toasts'

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
  hasEntries = () => false,
  onDiscard,
  onClose,
  children,
}: {
  title: string
  about?: ReactNode
  hasEntries?: () => boolean
  /** People drop their entries. */
  onDiscard?: () => void
  onClose: () => void
  children: ReactNode
}) {
  const popup = useRef<HTMLDivElement>(null)
  const finalFocus = useFocusReturn()
  // The first field, not the button that closes.
  const first = () => popup.current?.querySelector<HTMLElement>('form :is(input, select, textarea)') ?? true
  const { toasts, close } = useToasts()
  // A message of the write before would cover the buttons, above all on a phone.
  // biome-ignore lint/correctness/useExhaustiveDependencies: later messages stay.
  useEffect(() => {
    for (const { id, timeout } of toasts) if (timeout !== 0) close(id)
  }, [])
  const [isAsking, setAsking] = useState(false)
  // Escape, the cross, or a press beside the form may be a slip.
  const dismiss = () => (hasEntries() ? setAsking(true) : onClose())
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && dismiss()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup
          ref={popup}
          initialFocus={first}
          finalFocus={finalFocus}
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
              <Icon name="x" size={18} />
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
        <Discard
          onDiscard={() => {
            onDiscard?.()
            onClose()
          }}
          onKeep={() => setAsking(false)}
        />
      )}
      <Unsaved hasEntries={hasEntries} leaves={isHistoryStep} onDiscard={onDiscard} />
    </Dialog.Root>
  )
}

/** A dialog that something in it leaves, such as a link. Then the page has the focus. */
export function Overlay({
  label,
  className,
  isOpen,
  onOpenChange,
  children,
}: {
  label: string
  className: string
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  children: (leave: () => void) => ReactNode
}) {
  const isLeaving = useRef(false)
  const change = (opens: boolean, leaves: boolean) => {
    isLeaving.current = leaves
    onOpenChange(opens)
  }
  return (
    <Dialog.Root open={isOpen} onOpenChange={(opens) => change(opens, false)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-backdrop" />
        <Dialog.Popup
          aria-label={label}
          finalFocus={() => (isLeaving.current ? headingOfPage() : true)}
          className={classes('fixed z-50 flex flex-col shadow-raised outline-none', className)}
        >
          {children(() => change(false, true))}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Something in detail beside the page, with buttons below. */
export const DetailSheet = ({
  buttons,
  children,
  ...sheet
}: Pick<ComponentProps<typeof Sheet>, 'title' | 'about' | 'onClose' | 'children'> & {
  buttons?: ReactNode
}) => (
  <Sheet {...sheet}>
    <div className="sheet-body">{children}</div>
    {buttons !== undefined && (
      <div className="sheet-foot">
        <div className="flex flex-wrap justify-end gap-2">{buttons}</div>
      </div>
    )}
  </Sheet>
)

/** Asks before entries are dropped. */
export const Discard = ({
  onDiscard,
  onKeep,
  children = 'They are not saved.',
}: {
  onDiscard: () => void
  onKeep: () => void
  children?: ReactNode
}) => (
  <Confirm
    title="Discard your entries?"
    confirm="Discard"
    cancel="Keep editing"
    isDangerous
    onConfirm={onDiscard}
    onClose={onKeep}
  >
    {children}
  </Confirm>
)

/** Whether a step of the browser, such as Back, leads away. A link or a form does not. */
const isHistoryStep: ShouldBlockFn = ({ action }) => action !== 'PUSH' && action !== 'REPLACE'

/** Whether another page opens. The same one may change what is after `?`. */
const isOtherPage: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname

/**
 * Asks before entries are lost, because people go to another page.
 *
 * @param props.hasEntries whether there are entries that are not saved
 * @param props.leaves whether a way to another address loses them: at first, each way to another page
 */
export function Unsaved({
  hasEntries,
  leaves = isOtherPage,
  onDiscard,
}: {
  hasEntries: () => boolean
  leaves?: ShouldBlockFn
  onDiscard?: (() => void) | undefined
}) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: (way) => hasEntries() && leaves(way),
    enableBeforeUnload: false,
    withResolver: true,
  })
  if (status !== 'blocked') return null
  return (
    <Discard
      onDiscard={() => {
        onDiscard?.()
        proceed()
      }}
      onKeep={reset}
    />
  )
}

export type ConfirmProps = {
  title: string
  /** The effect, and whether it can be undone. */
  children: ReactNode
  /** The text of the button. It begins with "Confirm". */
  confirm: string
  /** The text of the other button. */
  cancel?: string
  isDangerous?: boolean
  /** The text that has to be typed before, such as the id of a user who is erased. */
  typed?: { label: string; text: string } | undefined
  /** Is true until there is an answer. */
  isBusy?: boolean
  /** Says why it was not done. */
  problem?: ReactNode
  onConfirm: () => void
  onClose: () => void
}

/** Brings into view what is new, when it appears. */
export const intoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: 'nearest' })

/** Asks before something is done that can't easily be undone. */
export function Confirm({
  title,
  children,
  confirm,
  isDangerous = false,
  typed,
  isBusy = false,
  cancel = isBusy ? 'Close' : 'Cancel',
  problem,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const finalFocus = useFocusReturn()
  const [given, setGiven] = useState('')
  const close = useRef<HTMLButtonElement>(null)
  /** In low windows the question could scroll past its title with the focus. */
  const focusClose = () => {
    if (typed === undefined) close.current?.focus({ preventScroll: true })
    return typed !== undefined
  }
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup initialFocus={focusClose} finalFocus={finalFocus} className="question max-w-md">
          <div>
            <AlertDialog.Title className="text-xl font-semibold tracking-tight">{title}</AlertDialog.Title>
            <AlertDialog.Description className="mt-2 text-quiet" render={<div />}>
              {children}
            </AlertDialog.Description>
          </div>
          {typed !== undefined && (
            <Labelled label={typed.label}>
              <PlainInput value={given} onChange={({ target }) => setGiven(target.value)} />
            </Labelled>
          )}
          {problem && <div ref={intoView}>{problem}</div>}
          <div className="flex flex-wrap justify-end gap-2">
            <AlertDialog.Close ref={close} className={buttonClasses('plain')}>
              {cancel}
            </AlertDialog.Close>
            <Button
              look={isDangerous ? 'danger' : 'primary'}
              isBusy={isBusy}
              disabled={typed !== undefined && seen(given) !== seen(typed.text)}
              onClick={onConfirm}
            >
              {isBusy ? 'Waiting…' : confirm}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
