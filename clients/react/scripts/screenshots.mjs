/**
 * `npm run screenshots:components -- [FOLDER]`: pictures of the gallery, one for each section and variant, in
 * node_modules/.cache/components/screenshots or FOLDER.
 */
import { join } from 'node:path'
import { NOW, serveGallery } from './serve.mjs'

const folder =
  process.argv[2] ?? join(import.meta.dirname, '../../../node_modules/.cache/components/screenshots')
const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 360, height: 780 }

const VARIANTS = {
  light: { query: 'theme=light', viewport: DESKTOP },
  dark: { query: 'theme=dark', viewport: DESKTOP },
  'phone-light': { query: 'theme=light', viewport: PHONE },
  'phone-dark': { query: 'theme=dark', viewport: PHONE },
  rtl: { query: 'theme=light&dir=rtl&locale=ar', viewport: DESKTOP },
}

const { url, browser, close } = await serveGallery()
try {
  for (const [name, { query, viewport }] of Object.entries(VARIANTS)) {
    const page = await browser.newPage({ viewport, reducedMotion: 'reduce' })
    await page.clock.setFixedTime(NOW)
    await page.goto(`${url}?${query}`)
    const sections = page.locator('.gallery-section')
    await sections.first().waitFor()
    for (const section of await sections.all()) {
      const title = (await section.getAttribute('data-section')) ?? 'section'
      await section.screenshot({
        path: join(folder, `${name}-${title.toLowerCase().replaceAll(' ', '-')}.png`),
      })
    }
    await page.close()
  }
} finally {
  await close()
}
console.log(`The pictures are in ${folder}.`)
