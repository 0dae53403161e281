import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

it("[G14] nothing of the console is in the Worker's script", async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/worker/index.ts'],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'silent',
  })
  const inputs = Object.keys(metafile.inputs)
  expect(inputs).toContain('src/worker/console.ts')
  expect(
    inputs.filter((path) => /^(?:console|clients)\/|\/(?:react|react-dom|@tanstack|@base-ui)\//.test(path)),
  ).toEqual([])
})
