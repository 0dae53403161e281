/** Writes `dist`, as it is published. `npm pack` runs it, and `npm run build -w @laurel/client`. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { toolScript } from '../../../scripts/lib/project.mjs'
import { makeTypes } from './generate.mjs'

const client = join(import.meta.dirname, '..')

await makeTypes()
rmSync(join(client, 'dist'), { recursive: true, force: true })
// The project's TypeScript. The one of this workspace is for the generator.
const compiler = toolScript('typescript', 'bin', 'tsc')
execFileSync(process.execPath, [compiler, '-p', join(client, 'tsconfig.build.json')], { stdio: 'inherit' })
