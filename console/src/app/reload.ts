/** Where `sessionStorage` keeps the time of the last reload. */
const RELOADED = 'laurel.reloaded'

/** How long no second reload is tried, in milliseconds. */
const PAUSE = 60_000

/**
 * Loads the whole page again, because the file of a page could not be loaded. If the server can be reached,
 * it has another version of the console by now, and the page itself names the new files. If a reload has not
 * helped, the error is shown. Throws if the server cannot be reached.
 */
export async function reloadOnce(reload: () => void): Promise<void> {
  await fetch('/health')
  if (Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < PAUSE) return
  sessionStorage.setItem(RELOADED, String(Date.now()))
  reload()
}
