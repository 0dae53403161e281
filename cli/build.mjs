/** Makes what is published beside `bin`: the build of Laurel, and the scripts that the commands call. `npm pack` runs it. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build as bundle, transformSync } from 'esbuild'
import { addressPackage } from '../scripts/lib/address.mjs'
import { project } from '../scripts/lib/project.mjs'
import { build } from '../scripts/serve/build.mjs'

/** The scripts that the commands call, and the tools that npm fetches for them. */
const SCRIPTS = ['serve', 'deploy', 'undeploy', 'restored', 'tool']
const TOOLS = ['node', 'wrangler']

const cli = import.meta.dirname

/** The scripts with all that they import. */
async function scripts() {
  const { metafile } = await bundle({
    ...{ absWorkingDir: project, entryPoints: SCRIPTS.map((name) => `scripts/${name}.mjs`), outdir: 'none' },
    ...{ bundle: true, format: 'esm', packages: 'external', platform: 'node', metafile: true, write: false },
  })
  return Object.keys(metafile.inputs)
}

/** Makes the scripts of the reference's viewer smaller by a tenth: they are the largest files. */
function shrinkViewer(/** @type {string} */ assets) {
  for (const name of readdirSync(assets).filter((file) => file.endsWith('.js'))) {
    const path = join(assets, name)
    const options = /** @type {const} */ ({ minify: true, charset: 'utf8', target: 'es2022' })
    writeFileSync(path, transformSync(readFileSync(path, 'utf8'), options).code)
  }
}

addressPackage(cli)
for (const name of ['dist', 'scripts']) rmSync(join(cli, name), { recursive: true, force: true })
await build(join(cli, 'dist', 'serve'), { forPackage: true })
shrinkViewer(join(cli, 'dist', 'serve', 'assets'))
for (const path of [...(await scripts()), ...TOOLS.map((name) => `scripts/tools/${name}`)])
  cpSync(join(project, path), join(cli, path), { recursive: true })
