import { join } from 'node:path'
import { build, preview } from 'vite'
import { launchBrowser } from '../../../scripts/lib/browser.mjs'

/** The moment that clocks of the gallery show in tests and pictures, so that countdowns stand still. */
export const NOW = '2026-11-23T12:00:00Z'

export { hasBrowser } from '../../../scripts/lib/browser.mjs'

/**
 * Builds the gallery, serves it on a free port, and starts a browser.
 * @returns {Promise<{ url: string; browser: import('playwright-core').Browser; close: () => Promise<void> }>}
 */
export async function serveGallery() {
  const configFile = join(import.meta.dirname, '../gallery/vite.config.ts')
  await build({ configFile, logLevel: 'error' })
  const server = await preview({ configFile, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'error' })
  const [url] = server.resolvedUrls?.local ?? []
  if (url === undefined) throw new Error('The gallery has no address.')
  const browser = await launchBrowser()
  const close = async () => {
    await browser.close()
    await server.close()
  }
  return { url, browser, close }
}
