import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { grouped, INDEX, LANDING, REPOSITORY, VERSION } from '../pages.mjs'

// build.mjs makes the pages, and says where they are and where the site goes.
const { pages, groups, reference, outDir, base } = JSON.parse(process.env.LAUREL_SITE ?? '{}')

const linkTo = ({ title, path }) => ({ text: title, link: `/${path.replace(/index$/, '')}` })
const asGroup = ([text, items]) => ({ text, items: items.map(linkTo) })
const first = pages.filter(({ source }) => ['README.md', INDEX].includes(source))

/** The anchors of headings, as GitHub makes them, so that links work on both. */
const anchor = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** A page loads only from its own host, except for pictures. It needs its inline scripts and styles. */
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; base-uri 'none'; form-action 'none'; object-src 'none'"

export default defineConfig({
  title: 'Laurel',
  description: 'Open-source gamification: points, levels, streaks, achievements and leaderboards.',
  lang: 'en',
  srcDir: '.pages',
  srcExclude: ['public/**'],
  outDir,
  base,
  cleanUrls: true,
  rewrites: Object.fromEntries(pages.map(({ source, path }) => [source, `${path}.md`])),
  head: [
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }],
    ['link', { rel: 'icon', href: `${base}laurel.svg` }],
  ],
  markdown: {
    anchor: { slugify: anchor },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      // A wide table scrolls by itself, also with the keyboard.
      md.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n'
      md.renderer.rules.table_close = () => '</table></div>\n'
      // A cell above a column without a name is no heading.
      md.core.ruler.push('cells', ({ tokens }) => {
        for (const [index, { type }] of tokens.entries())
          if (type === 'th_open' && tokens[index + 1].content === '')
            for (const cell of [tokens[index], tokens[index + 2]]) cell.tag = 'td'
      })
      // Templates of messages are shown as they are. Vue would fill them in.
      const { text, code_inline } = md.renderer.rules
      const asWritten =
        (rule) =>
        (...args) =>
          rule(...args).replaceAll('{{', '&#123;&#123;')
      Object.assign(md.renderer.rules, { text: asWritten(text), code_inline: asWritten(code_inline) })
    },
  },
  vite: {
    // The first page of the theme has no `main`.
    resolve: {
      alias: [
        {
          find: /^.*\/VPHome\.vue$/,
          replacement: join(dirname(fileURLToPath(import.meta.url)), 'theme', 'home.mjs'),
        },
      ],
    },
  },
  themeConfig: {
    logo: { src: '/laurel.svg', alt: '' },
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Guides', link: '/guides/tour', activeMatch: '/guides/' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Reference', link: '/reference/', activeMatch: '/reference/' },
      { text: 'Rules', link: '/rules' },
      { text: 'Operate', link: '/operations' },
      { text: VERSION, link: '/changelog' },
    ],
    sidebar: {
      '/reference/': grouped(reference, ({ group }) => group).map(asGroup),
      '/': [
        asGroup(['Begin', first]),
        ...groups.map(({ title, pages: own }) => asGroup([title, own])),
        { text: 'Reference of all operations', link: '/reference/' },
      ],
    },
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    ...(REPOSITORY !== '' && {
      editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
      socialLinks: [{ icon: 'github', link: REPOSITORY }],
    }),
    footer: { message: 'Apache-2.0. Made from the documents of the project.' },
  },
  transformPageData: ({ filePath }) =>
    filePath === LANDING ? { title: 'Laurel', titleTemplate: false } : {},
})
