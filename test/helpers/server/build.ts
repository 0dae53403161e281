import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Builds Laurel once for all servers of the tests: each project of theirs gets a copy (harness.ts). */
export default function setup(): void {
  const root = join(import.meta.dirname, '..', '..', '..')
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' })
}
