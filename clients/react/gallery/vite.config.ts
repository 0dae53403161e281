import { join } from 'node:path'
import { defineConfig } from 'vite'

const cache = join(import.meta.dirname, '../../../node_modules/.cache/components')

/** The gallery of components: `npm run components`. */
export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ['@laurel/source', 'module', 'browser', 'development|production'] },
  cacheDir: join(cache, 'vite'),
  build: { outDir: join(cache, 'gallery'), emptyOutDir: true },
})
