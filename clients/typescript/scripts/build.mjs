/** Writes `dist`, as it is published. `npm pack` runs it, and `npm run build -w @laurel/client`. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { addressPackage } from '../../../scripts/lib/address.mjs'
import { toolScript } from '../../../scripts/lib/project.mjs'
import { demandNewNode } from '../../../scripts/lib/tools.mjs'
import { makeTypes } from './generate.mjs'

const client = join(import.meta.dirname, '..')

await demandNewNode()
addressPackage(client)
await makeTypes()
rmSync(join(client, 'dist'), { recursive: true, force: true })
const compiler = toolScript('typescript', 'bin', 'tsc')
execFileSync(process.execPath, [compiler, '-p', join(client, 'tsconfig.build.json')], { stdio: 'inherit' })
