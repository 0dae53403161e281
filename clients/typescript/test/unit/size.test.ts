import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const client = join(import.meta.dirname, '..', '..')

/** The size of a script that uses the client, in bytes after gzip. */
async function sizeOf(script: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: client, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['@laurel/source'],
    write: false,
    logLevel: 'error',
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

it('the application interface is at most 10 KB', async () => {
  const size = await sizeOf("import { Laurel } from './src/app.js'; globalThis.laurel = Laurel")
  expect(size).toBeLessThan(10_000)
  expect(size).toBeGreaterThan(2_000)
})

it.each([
  ['the core', "import { Core } from './src/core/core.js'; globalThis.part = Core", 8],
  ['the queue', "import { OfflineQueue } from './src/offline.js'; globalThis.part = OfflineQueue", 4],
  ['a live leaderboard', "import { watch } from './src/application/live.js'; globalThis.part = watch", 3],
])('%s is small', async (_, script, most) => {
  expect(await sizeOf(script)).toBeLessThan(most * 1024)
})

it('what is not used is left out', async () => {
  const verify = await sizeOf(
    "import { verifyWebhook } from './src/index.js'; globalThis.verify = verifyWebhook",
  )
  expect(verify).toBeLessThan(1_500)
  expect(await sizeOf("import './src/index.ts'; import './src/offline.ts'")).toBeLessThan(50)
})
