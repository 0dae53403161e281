/**
 * Writes `dist`: the modules, their types and the stylesheet, as they are published.
 * `npm run build -w @laurel/react`. It builds `@laurel/client` first, if that has no `dist`: its types are
 * needed.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressPackage } from '../../../scripts/lib/address.mjs'
import { toolScript } from '../../../scripts/lib/project.mjs'

const react = join(import.meta.dirname, '..')
const client = join(react, '..', 'typescript')
const compiler = toolScript('typescript', 'bin', 'tsc')

if (!existsSync(join(client, 'dist', 'app.d.ts'))) {
  execFileSync(process.execPath, [join(client, 'scripts', 'build.mjs')], { stdio: 'inherit' })
}
addressPackage(react)
rmSync(join(react, 'dist'), { recursive: true, force: true })
execFileSync(process.execPath, [compiler, '-p', join(react, 'tsconfig.build.json')], { stdio: 'inherit' })
copyFileSync(join(react, 'src', 'styles.css'), join(react, 'dist', 'styles.css'))
// TypeScript wants types of everything that is imported.
writeFileSync(join(react, 'dist', 'styles.css.d.ts'), 'export {}\n')
