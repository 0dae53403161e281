import { useLocation } from '@tanstack/react-router'
import { createContext, type RefObject, useContext, useEffect, useRef } from 'react'

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

/**
 * Moves the focus to the heading of the page if it is lost when a dialog closes: the element that opened it
 * was removed, or there was none.
 */
export function useFocusAfterwards(): void {
  useEffect(
    () => () => {
      // The dialog gives the focus back before the next frame.
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) headingOfPage()?.focus({ preventScroll: true })
      })
    },
    [],
  )
}
