/** Makes a hash of source files. Another hash means that a source has changed, so that a build is out of date. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Folders that are no source. Generated types leave no trace in a build. */
const SKIPPED = new Set(['node_modules', 'dist', 'generated', 'test'])

/** The files of a folder, or the file itself, sorted by path. */
function filesOf(/** @type {string} */ path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name) && !name.startsWith('.'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name }) => /** @type {string[]} */ (filesOf(join(path, name))))
}

/** The hash of everything that a build depends on. `sources` are files and folders below the folder. */
export function hashOf(/** @type {string} */ folder, /** @type {readonly string[]} */ sources) {
  const hash = createHash('sha256')
  for (const file of sources.flatMap((name) => filesOf(join(folder, name))))
    hash
      .update(`${file.slice(folder.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}
