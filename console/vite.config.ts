import lucide from '@iconify-json/lucide/icons.json' with { type: 'json' }
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { ICONS } from './icons.ts'

/** The server that `npm run dev` in this folder shows, such as the one that `npm start` runs. */
const server = process.env.LAUREL_URL ?? 'http://localhost:8787'

/** Loads the font together with the script, so that no text changes its shape after it was shown. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((file) => file.includes('inter-latin-wght-normal'))
        .map((file) => ({
          tag: 'link',
          attrs: {
            rel: 'preload',
            as: 'font',
            type: 'font/woff2',
            href: `/console/${file}`,
            crossorigin: '',
          },
          injectTo: 'head',
        })),
  },
}

/** Makes `virtual:icons`, the drawings of the symbols that the console uses, of the many that Lucide has. */
const VIRTUAL = 'virtual:icons'
const drawIcons: Plugin = {
  name: 'icons',
  resolveId: (id) => (id === VIRTUAL ? `\0${id}` : undefined),
  load: (id) => (id === `\0${VIRTUAL}` ? `export default ${JSON.stringify(drawings())}` : undefined),
}

const drawings = () => Object.fromEntries(ICONS.map((name) => [name, lucide.icons[name].body]))

export default defineConfig({
  base: '/console/',
  plugins: [react(), tailwind(), preloadFont, drawIcons],
  // The sources of the workspaces, so that their packages need not be built first.
  resolve: { conditions: ['@laurel/source', 'module', 'browser', 'development|production'] },
  build: {
    target: 'baseline-widely-available',
    // The policy of the page allows no inline content.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    // Without the names of the sources: ad blockers stop files such as `send-event.js`.
    rolldownOptions: { output: { chunkFileNames: 'assets/part-[hash].js' } },
  },
  server: {
    proxy: Object.fromEntries(['/admin', '/api', '/v1', '/health'].map((path) => [path, { target: server }])),
  },
})
