/** Checks a built site: no dead link or anchor, and a way from the first page to each other one. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What is wrong with a built site. Links to other sites are not followed. @type {(folder: string, base: string) => string[]} */
export function complaintsAbout(folder, base) {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.html') && file !== '404.html')
  const nameOf = (/** @type {string} */ file) =>
    file.replaceAll('\\', '/').replace(/(?:(^|\/)index)?\.html$/, '$1')
  const pages = new Map(
    files.map((file) => {
      const html = readFileSync(join(folder, file), 'utf8')
      const links = [...html.matchAll(/<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(
        ([, link = '']) => decodeURI(link.replaceAll('&amp;', '&')),
      )
      const ids = new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => id))
      return [nameOf(file), { links, ids }]
    }),
  )
  /** @type {string[]} */
  const dead = []
  const reached = new Set([''])
  for (const name of reached) {
    const page = pages.get(name)
    for (const link of page?.links ?? []) {
      if (/^[a-z]+:|^\/\//.test(link)) continue
      const { pathname, hash } = new URL(link, `http://site${base}${name}`)
      const target = decodeURI(pathname.slice(base.length))
      const found = pages.get(target)
      const id = decodeURIComponent(hash.slice(1))
      if (!pathname.startsWith(base) || (!found && !existsSync(join(folder, target))))
        dead.push(`${name}: nothing at ${link}`)
      else if (found && id !== '' && !found.ids.has(id)) dead.push(`${name}: no heading at ${link}`)
      if (found) reached.add(target)
    }
  }
  const lost = [...pages.keys()].filter((name) => !reached.has(name))
  return [...new Set(dead), ...lost.map((name) => `${name}: no link leads to this page`)]
}
