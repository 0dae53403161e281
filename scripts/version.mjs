/**
 * `npm run release:version`: raises the versions of the packages as the changesets say, writes their changelogs, and
 * gives the project the same version, in its changelog too.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { inProject } from './lib/project.mjs'

const run = (/** @type {string} */ command) =>
  execFileSync(command, { cwd: inProject(), stdio: 'inherit', shell: true })
const read = (/** @type {string[]} */ ...path) =>
  JSON.parse(readFileSync(inProject(...path, 'package.json'), 'utf8'))

run('npm run changeset -- version')
const { version } = read('clients', 'typescript')
for (const path of [[], ['console']]) {
  const manifest = { ...read(...path), version }
  writeFileSync(inProject(...path, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
const changelog = readFileSync(inProject('CHANGELOG.md'), 'utf8')
const heading = `## ${version} - ${new Date().toISOString().slice(0, 10)}`
writeFileSync(inProject('CHANGELOG.md'), changelog.replace(/^## Unreleased$/m, heading))
// The lockfile has the versions too.
run('npm install --package-lock-only --ignore-scripts')
run('npm run format')
