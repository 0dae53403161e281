import { useLocation } from '@tanstack/react-router'
import { createContext, type RefObject, useContext, useEffect, useRef, useState } from 'react'

/** The page that was shown last: `users/ada`. Null before the first one. */
export const ShownPage = createContext<RefObject<string | null> | null>(null)

/** Parts of addresses that name the form of a new item. The form belongs to the page of the list. */
const FORMS: readonly string[] = ['new', 'new-admin']

/** The page of an address. Tabs and forms belong to the page that they are on. */
const pageOf = (pathname: string): string =>
  pathname
    .split('/')
    .slice(1, 3)
    .filter((part) => !FORMS.includes(part))
    .join('/')

/** The heading of the page that is shown. */
export const headingOfPage = (): HTMLElement | null => document.querySelector('#content h1')

/**
 * Moves the focus to the heading when another page opens, so that screen readers say its name and the
 * keyboard goes on from there. The first page after a sign-in or a reload does not take the focus.
 *
 * @returns the reference of the heading
 */
export function useHeadingFocus(): RefObject<HTMLHeadingElement | null> {
  const { pathname } = useLocation()
  const page = pageOf(pathname)
  const shown = useContext(ShownPage)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (shown === null) return
    // A heading that was replaced, such as that of a loading page, loses the focus to the body.
    const isLost = document.activeElement === document.body
    if (shown.current !== null && (shown.current !== page || isLost))
      heading.current?.focus({ preventScroll: true })
    shown.current = page
  }, [page, shown])
  return heading
}

/** The dialog that is open, above all others. One that is closing does not count. */
export const openDialog = (): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>('[role="dialog"], [role="alertdialog"]')].findLast(
    (dialog) => !dialog.hasAttribute('data-closed'),
  )

/** Whether no element has the focus. */
const hasNoFocus = () => document.activeElement === null || document.activeElement === document.body

/**
 * Keeps people on the keyboard in the page. If the element with the focus is removed, the browser drops the
 * focus. This moves it to the heading of the page, or to the dialog that is open, unless something else takes
 * it before the next frame. A focus that people have taken away themselves does not come back.
 *
 * @param isOn is false until the pages are shown: the first one does not take the focus
 */
export function useKeptFocus(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return
    let last: Element | null = null
    let frame = 0
    const restore = () => {
      if (last === null || last.isConnected || !hasNoFocus()) return
      const target = openDialog() ?? headingOfPage()
      target?.focus({ preventScroll: true })
    }
    const onFocus = ({ target }: FocusEvent) => {
      if (target instanceof Element) last = target
    }
    const onBlur = ({ target }: FocusEvent) => {
      // Some browsers report it before the element is removed, and some when a button is disabled.
      queueMicrotask(() => {
        const isTakenAway = target instanceof Element && target.isConnected && !target.matches(':disabled')
        if (last === target && hasNoFocus() && isTakenAway) last = null
      })
    }
    // There is no event for an element that is removed.
    const removals = new MutationObserver(() => {
      if (last === null || last.isConnected || !hasNoFocus()) return
      cancelAnimationFrame(frame)
      // A dialog gives the focus back, and a new page takes it, before the next frame.
      frame = requestAnimationFrame(restore)
    })
    addEventListener('focusin', onFocus)
    addEventListener('focusout', onBlur)
    removals.observe(document.body, { childList: true, subtree: true })
    return () => {
      removeEventListener('focusin', onFocus)
      removeEventListener('focusout', onBlur)
      removals.disconnect()
      cancelAnimationFrame(frame)
    }
  }, [isOn])
}

/** The element that opens a dialog: the one with the focus. For an item of a menu, it is the menu button. */
function openerOfDialog(): Element | null {
  const active = document.activeElement
  const button = active?.closest('[role="menu"]')?.getAttribute('aria-labelledby')
  return typeof button === 'string' ? document.getElementById(button) : active
}

/** Whether an element outside all dialogs has the focus. */
const isFocusOnPage = () =>
  !hasNoFocus() && document.activeElement?.closest('[role="dialog"], [role="alertdialog"]') === null

/**
 * Gives the focus back to the element that opened a dialog, when the dialog closes. If the element was
 * removed, `useKeptFocus` moves the focus to the heading. By itself, the dialog would give it to a button
 * that opened an earlier dialog.
 *
 * @returns the `finalFocus` of the dialog
 */
export function useFocusReturn(): () => HTMLElement | false {
  const [opener] = useState(openerOfDialog)
  return () =>
    opener instanceof HTMLElement && opener !== document.body && opener.isConnected && !isFocusOnPage()
      ? opener
      : false
}
