import { Dialog } from '@base-ui/react/dialog'
import { type ReactNode, useState } from 'react'
import { Button } from './button'
import { BACKDROP, Confirm } from './dialog'
import { Icon } from './icon'
import { Labelled, PlainInput } from './labelled'
import { Notice } from './page'

/** Copies a text. If the browser does not allow it, the label says so. */
export function CopyButton({
  text,
  label = 'Copy',
  onCopied,
}: {
  text: string
  label?: string
  onCopied?: () => void
}) {
  const [state, setState] = useState<'new' | 'copied' | 'refused'>('new')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
      onCopied?.()
    } catch {
      setState('refused')
    }
  }
  const said = { new: label, copied: 'Copied', refused: 'Select and copy it' }[state]
  return (
    <Button onClick={copy}>
      {state === 'copied' ? <Icon name="check" size={15} /> : <Icon name="copy" size={15} />}
      <span aria-live="polite">{said}</span>
    </Button>
  )
}

/** Shows a secret, which no page shows again. Escape asks, unless it was copied. */
export function SecretDialog({
  title,
  label,
  secret,
  children,
  onClose,
}: {
  title: string
  /** The name of the secret, such as "Signing secret". */
  label: string
  secret: string
  /** Its use. */
  children: ReactNode
  onClose: () => void
}) {
  const [isCopied, setCopied] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const dismiss = () => (isCopied ? onClose() : setAsking(true))
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && dismiss()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup className="question max-w-lg">
          <div>
            <Dialog.Title className="text-xl font-semibold tracking-tight">{title}</Dialog.Title>
            <Dialog.Description className="mt-2 text-quiet" render={<div />}>
              {children}
            </Dialog.Description>
          </div>
          <Labelled label={label}>
            <PlainInput
              className="font-mono text-xs"
              readOnly
              value={secret}
              onFocus={({ target }) => target.select()}
            />
          </Labelled>
          <Notice tone="warning">Copy it now. It is not shown again.</Notice>
          <div className="flex flex-wrap justify-end gap-2">
            <CopyButton text={secret} onCopied={() => setCopied(true)} />
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
      {isAsking && (
        <Confirm
          title="Close without a copy?"
          confirm="Confirm: close"
          isDangerous
          onConfirm={onClose}
          onClose={() => setAsking(false)}
        >
          It is not shown again.
        </Confirm>
      )}
    </Dialog.Root>
  )
}
