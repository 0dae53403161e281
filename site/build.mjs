/**
 * Makes the site from the documents and the OpenAPI documents of the project. `npm run site` builds it into
 * `dist/site`, for the root of a host. Options: `--base /x/` for another path, `--worker` for the Worker, which
 * serves it at `/site/` from its next start or deployment, and `--serve` to look at it while you write.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { runCommand } from '../scripts/lib/command.mjs'
import { Complaint } from '../scripts/lib/project.mjs'
import { complaintsAbout } from './check.mjs'
import { assistantTexts } from './llms.mjs'
import { documents, groupsOfPages, project, textOfPage } from './pages.mjs'
import { pagesOfReference, readReference } from './reference.mjs'

const site = join(project, 'site')
const STAGED = join(site, '.pages')
const VITEPRESS = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js')

const { values: options } = parseArgs({
  options: { base: { type: 'string' }, serve: { type: 'boolean' }, worker: { type: 'boolean' } },
})
const base = options.base ?? (options.worker ? '/site/' : '/')
const outDir = join(project, 'dist', options.worker ? 'site-of-worker' : 'site')

/** Installs the packages of the site, if they are missing. */
async function install() {
  if (existsSync(VITEPRESS)) return
  process.stderr.write('Installing the packages of the site…\n')
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: site }).catch((error) => {
    throw new Complaint(
      `${error.stderr}\nThe packages of the site could not be installed (site/package.json).`,
    )
  })
}

/** Writes a file, unless it is up to date, so that the watching server does nothing. */
function write(/** @type {string} */ path, /** @type {string | Buffer} */ content) {
  const file = join(STAGED, path)
  if (existsSync(file) && readFileSync(file).equals(Buffer.from(content))) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Writes the pages that are documents, and their pictures. Returns their texts by their path. */
function writeDocuments(/** @type {ReturnType<typeof documents>} */ pages) {
  /** @type {Map<string, string>} */
  const pictures = new Map()
  const texts = pages.map(({ source, path }) => {
    const text = textOfPage(source, pages, pictures)
    write(source, text)
    return /** @type {const} */ ([path, text])
  })
  for (const [name, file] of pictures) write(`public/${name}`, readFileSync(join(project, file)))
  return new Map(texts)
}

runCommand(async () => {
  await install()
  rmSync(STAGED, { recursive: true, force: true })
  const pages = documents()
  const reference = pagesOfReference(await readReference())
  const texts = writeDocuments(pages)
  for (const { path, text } of reference) write(`${path}.md`, `---\neditLink: false\n---\n\n${text}`)
  write('public/laurel.svg', readFileSync(join(site, 'laurel.svg')))
  const forAssistants = assistantTexts(base, pages, texts, reference)
  for (const [path, text] of forAssistants) write(`public/${path}`, text)

  const shared = {
    pages,
    groups: groupsOfPages(),
    reference: reference.map(({ path, title, group }) => ({ path, title, group })),
    outDir,
    base,
  }
  const env = { ...process.env, LAUREL_SITE: JSON.stringify(shared) }
  if (options.serve) {
    for (const folder of ['docs', 'clients', 'site'])
      watch(join(project, folder), { recursive: true }, (_, file) => {
        if (file?.endsWith('.md') && !file.includes('.pages')) writeDocuments(pages)
      })
    const server = spawn(process.execPath, [VITEPRESS, 'dev', site, '--base', base], {
      env,
      stdio: 'inherit',
    })
    await new Promise((resolve) => server.on('exit', resolve))
    return
  }
  const args = [VITEPRESS, 'build', site]
  await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1e8 }).catch(({ stdout, stderr }) => {
    throw new Complaint(`${stdout}${stderr}\nThe site could not be built.`)
  })
  const complaints = complaintsAbout(outDir, base)
  if (complaints.length > 0)
    throw new Complaint(`${complaints.join('\n')}\n\nThe site has faults. Repair its pages.`)
  process.stdout.write(`The site is in ${outDir}, for the path ${base}\n`)
})
