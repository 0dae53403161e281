/** The public address of the project: `repository` in the package.json of the project is its one place. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { inProject, project } from './project.mjs'

/** The address of the project in a browser, such as `https://github.com/someone/laurel`. */
export function projectAddress() {
  const { repository } = JSON.parse(readFileSync(inProject('package.json'), 'utf8'))
  return String(repository).replace(/\.git$/, '')
}

/** Gives a package that is published the public address, before it is packed. */
export function addressPackage(/** @type {string} */ folder) {
  const path = join(folder, 'package.json')
  const text = readFileSync(path, 'utf8')
  const directory = relative(project, folder).replaceAll('\\', '/')
  const address = projectAddress()
  const addressed = {
    ...JSON.parse(text),
    repository: { type: 'git', url: `git+${address}.git`, directory },
    homepage: `${address}/tree/main/${directory}#readme`,
    bugs: `${address}/issues`,
  }
  const next = `${JSON.stringify(addressed, null, 2)}\n`
  if (next !== text) writeFileSync(path, next)
}

/** Gives the button of the README the public address. It must be written out there. */
export function addressButton() {
  const path = inProject('README.md')
  const text = readFileSync(path, 'utf8')
  const next = text.replace(/(deploy\.workers\.cloudflare\.com\/\?url=)[^)]*/, `$1${projectAddress()}`)
  if (next !== text) writeFileSync(path, next)
}
