import { createBrowserHistory, type RouterHistory } from '@tanstack/react-router'

/** Whether a form or a question is open. The palette and the menu of a phone are neither. */
const isFormOpen = () =>
  /\/(?:new|edit)$/.test(location.pathname) || document.querySelector('.sheet, [role="alertdialog"]') !== null

const pathOf = (href: string) => href.replace(/[?#].*/, '')

/**
 * The history of the browser, in which Back does not open a form that was closed: to close it by going to the
 * page below it is a step back if that page was shown before, and replaces the form if not.
 */
export function newHistory(): RouterHistory {
  const history = createBrowserHistory()
  const { push, replace } = history
  /** The addresses by their place in the history, as far as they are known. */
  const known: string[] = []
  const place = () => history.location.state.__TSR_index
  const note = () => {
    known[place()] = history.location.href
  }
  note()
  history.subscribe(({ action }) => {
    if (action.type === 'PUSH') known.length = place()
    note()
  })
  const steps =
    (step: RouterHistory['push']): RouterHistory['push'] =>
    (href, ...rest) => {
      if (!isFormOpen()) return step(href, ...rest)
      if (known[place() - 1] === href) return history.back({ ignoreBlocker: true })
      const isBelow = pathOf(history.location.href).startsWith(pathOf(href))
      return (isBelow ? replace : step)(href, ...rest)
    }
  return Object.assign(history, { push: steps(push), replace: steps(replace) })
}
