import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'

/** Short messages at the edge of the page, above all after a write. */
export const toasts = Toast.createToastManager()

/** Says that a write was done. */
export const done = (title: string, description?: string) =>
  toasts.add({ title, ...(description !== undefined && { description }) })

/** Says that something failed, and what to do. It is read out at once. */
export const failed = (title: string, description: string) =>
  toasts.add({ title, description, type: 'error', priority: 'high', timeout: 10_000 })

function List() {
  const { toasts: shown } = Toast.useToastManager()
  return shown.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      // It is no dialog: it asks for nothing, and the page can be used meanwhile.
      role="group"
      // biome-ignore lint/a11y/useValidAriaValues: it removes the attribute, which a group must not have.
      aria-modal={undefined}
      className="pointer-events-auto rounded-lg border border-line bg-raised shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
    >
      <Toast.Content className="flex items-start gap-3 px-4 py-3">
        <div className="min-w-0 flex-1">
          <Toast.Title
            className={toast.type === 'error' ? 'font-medium text-danger' : 'font-medium'}
            render={<p />}
          />
          <Toast.Description className="text-sm text-quiet" />
        </div>
        <Toast.Close
          aria-label="Dismiss"
          // By default it is hidden from screen readers until it has the focus.
          aria-hidden={false}
          className="rounded-sm p-0.5 text-quiet hover:bg-hover"
        >
          <X size={16} aria-hidden="true" />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

/** Shows the messages. It is there once, around the whole page. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={toasts} limit={3}>
      <Toast.Portal>
        <Toast.Viewport
          aria-label="Messages"
          className="pointer-events-none fixed inset-x-4 bottom-4 z-60 mx-auto flex max-w-sm flex-col gap-2"
        >
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}
