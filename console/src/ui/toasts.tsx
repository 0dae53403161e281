import { Toast } from '@base-ui/react/toast'
import type { ReactNode } from 'react'
import { Button } from './button'
import { Icon } from './icon'

type Action = { label: string; act: () => void }

/** Short messages at the edge of the page, above all after a write. */
export const toasts = Toast.createToastManager<{ actions: readonly Action[] }>()

/** Says that something was done. */
export const done = (title: string, description?: string) =>
  toasts.add({ title, ...(description !== undefined && { description }) })

/** Says that something failed, and what to do. It is read out at once, and stays until it is dismissed. */
export const failed = (title: string, description: string, actions: readonly Action[] = []) =>
  toasts.add({ title, description, type: 'error', priority: 'high', timeout: 0, data: { actions } })

/** Says that something waits for people. It comes when they press the button, and if they dismiss the message. */
export const waiting = (title: string, label: string, onClose: () => void) =>
  toasts.add({ title, timeout: 0, onClose, data: { actions: [{ label, act: () => {} }] } })

/** The messages that are shown, for what must not be covered by them. */
export const useToasts = Toast.useToastManager<{ actions: readonly Action[] }>

function List() {
  const { toasts: shown, close } = useToasts()
  return shown.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      // By default, one that is urgent is hidden from screen readers until it has the focus.
      aria-hidden={undefined}
      // It is no dialog: it asks for nothing, and the page can be used meanwhile.
      role="group"
      // biome-ignore lint/a11y/useValidAriaValues: it removes the attribute, which a group must not have.
      aria-modal={undefined}
      className="pointer-events-auto shrink-0 rounded-lg border border-line bg-raised shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
    >
      <Toast.Content className="flex items-start gap-3 px-4 py-3">
        <div className="min-w-0 flex-1 wrap-anywhere">
          <Toast.Title
            className={toast.type === 'error' ? 'font-medium text-danger' : 'font-medium'}
            render={<p />}
          />
          <Toast.Description className="text-sm text-quiet" />
          {toast.data !== undefined && toast.data.actions.length > 0 && (
            <div className="mt-2 flex flex-wrap gap-2">
              {toast.data.actions.map(({ label, act }) => (
                <Button
                  key={label}
                  isSmall
                  onClick={() => {
                    act()
                    close(toast.id)
                  }}
                >
                  {label}
                </Button>
              ))}
            </div>
          )}
        </div>
        <Toast.Close
          aria-label="Dismiss"
          // By default it is hidden from screen readers until it has the focus.
          aria-hidden={false}
          className="rounded-sm p-0.5 text-quiet hover:bg-hover"
        >
          <Icon name="x" size={16} />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

/** Shows the messages, and other things at the same place. It is there once, around the whole page. */
export function Toasts({ beside, children }: { beside: ReactNode; children: ReactNode }) {
  return (
    <Toast.Provider toastManager={toasts} limit={100}>
      {children}
      <Toast.Portal>
        <Toast.Viewport
          aria-label="Messages"
          className="pointer-events-none fixed inset-x-0 bottom-0 z-60 mx-auto flex max-h-[70dvh] max-w-md flex-col gap-2 overflow-y-auto p-4 in-[body:has([role=dialog])]:max-sm:top-0 in-[body:has([role=dialog])]:max-sm:bottom-auto"
        >
          {beside}
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}
