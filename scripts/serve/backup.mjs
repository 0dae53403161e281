/**
 * Backups of `npm run serve`: a copy of all files at one moment, and the way back.
 *
 * The server stops workerd by a signal (SIGSTOP) while it copies. A process that is stopped writes nothing,
 * so the copy is what a process that is killed at that moment leaves behind: all that was answered is in it,
 * and SQLite completes or undoes the rest when it opens the files. Requests wait meanwhile.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { Complaint } from '../lib/project.mjs'
import { until } from '../lib/until.mjs'
import { pack, unpack } from './archive.mjs'
import { isEmpty, isServed, lockData, OBJECTS, RESTORED, RESTORING, SERVER, SNAPSHOT, send } from './data.mjs'
import { give, renameAndSync, sync } from './files.mjs'

/** How long a process may take to stop, in milliseconds. */
const PATIENCE = 5000

/**
 * Copies the data at one moment. On file systems that can, the copy shares its blocks with the original.
 *
 * @param {number | undefined} id the process that writes the data; none: nothing writes
 * @param {AbortSignal} [signal] ends it early, after the file that is being copied; then no copy is left
 * @returns {Promise<{ folder: string; at: string }>} the folder of the copy, below the current one, and its moment
 */
export async function snapshot(id, signal) {
  const folder = `${SNAPSHOT}${process.pid}-${Date.now()}`
  mkdirSync(folder, { mode: 0o700 })
  try {
    if (id !== undefined) await stopProcess(id)
    await cp(OBJECTS, join(folder, OBJECTS), {
      recursive: true,
      dereference: true,
      mode: constants.COPYFILE_FICLONE,
      filter: (name) => {
        signal?.throwIfAborted()
        return isCopied(name)
      },
    })
    signal?.throwIfAborted()
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  } finally {
    if (id !== undefined) process.kill(id, 'SIGCONT')
  }
  return { folder, at: new Date().toISOString() }
}

/** Is true if a file is copied. The index of a database (`-shm`) is not, because SQLite makes it again. */
const isCopied = (/** @type {string} */ name) => !name.endsWith('.sqlite-shm')

/** Stops a process, and waits until each of its threads has stopped. */
async function stopProcess(/** @type {number} */ id) {
  process.kill(id, 'SIGSTOP')
  if (!(await until(() => isStopped(id), { patience: PATIENCE, pause: 2 })))
    throw new Error(`The process ${id} does not stop.`)
}

function isStopped(/** @type {number} */ id) {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-o', 'state=', '-p', String(id)], { encoding: 'utf8' })
    return stdout.trim().startsWith('T')
  }
  const threads = readdirSync(`/proc/${id}/task`)
  return threads.every((thread) => {
    const state = readFileSync(`/proc/${id}/task/${thread}/stat`, 'utf8').replace(/^.*\) /s, '')
    return state.startsWith('T')
  })
}

/**
 * `npm run serve -- backup FILE`, beside the server or without one.
 *
 * @param {string} folder of the data, which is the current one
 * @param {string} target
 * @param {AbortSignal} signal ends it early; then nothing is left
 */
export async function backup(folder, target, signal) {
  if (existsSync(target)) throw new Complaint(`${target} exists already.`)
  if (!existsSync(OBJECTS)) throw new Complaint(`There is no data in ${folder}.`)
  const copy = await currentSnapshot(folder, signal)
  try {
    await pack(copy, target, signal)
  } finally {
    rmSync(copy.folder, { recursive: true, force: true })
    // If this process is killed before, the server removes the copy.
    copy.close()
  }
}

/** @returns {Promise<{ folder: string; at: string; close: () => void }>} */
async function currentSnapshot(/** @type {string} */ folder, /** @type {AbortSignal} */ signal) {
  if (await isServed()) {
    const answer = await send(SERVER, '/snapshot', signal)
    // If the server ends meanwhile, the connection does too.
    answer.on('error', () => undefined)
    const [part = ''] = await once(answer.setEncoding('utf8'), 'data')
    if (answer.statusCode !== 200) throw new Complaint(`The server could not copy its data: ${part}`)
    return { ...JSON.parse(part), close: () => answer.destroy() }
  }
  await lockData(folder, (_request, response) => response.writeHead(503).end('A backup is being made.'))
  return { ...(await snapshot(undefined, signal)), close: () => undefined }
}

/**
 * `npm run serve -- restore FILE`, into a folder that is empty.
 *
 * @param {string} folder of the data, which is the current one
 * @param {string} source
 * @param {string | undefined} later the folder with the data from before the restore, or a later backup: the
 *   deletions that it lists are done again (M3)
 * @param {AbortSignal} signal ends it early; then nothing is left
 */
export async function restore(folder, source, later, signal) {
  if (!existsSync(source)) throw new Complaint(`There is no file ${source}.`)
  if (later !== undefined) await demandLater(later)
  demandEmpty(folder)
  await lockData(folder, (_request, response) => response.writeHead(503).end('A backup is being restored.'))
  // A process that had the lock until now may have written to it.
  demandEmpty(folder)
  try {
    mkdirSync(RESTORING, { mode: 0o700 })
    await unpack(source, RESTORING, signal)
    if (later !== undefined) await takeDeletions(later, signal)
    // Root may restore into the folder of the server's user.
    await give(RESTORING)
    signal.throwIfAborted()
    writeFileSync(RESTORED, '')
    await give(RESTORED)
    await sync('.')
    await renameAndSync(join(RESTORING, OBJECTS), OBJECTS)
  } catch (error) {
    rmSync(RESTORED, { force: true })
    throw error
  } finally {
    rmSync(RESTORING, { recursive: true, force: true })
  }
}

function demandEmpty(/** @type {string} */ folder) {
  if (!isEmpty())
    throw new Complaint(
      `${folder} is not empty. Restore into an empty folder: set LAUREL_DATA to another one, or move this one away.`,
    )
}

/** The list of deletions, in the folder of the objects. */
const DELETIONS = 'laurel-DeletionList'

const isFolder = (/** @type {string} */ path) => statSync(path).isDirectory()

async function demandLater(/** @type {string} */ later) {
  if (!existsSync(later)) throw new Complaint(`There is no ${later}.`)
  if (!isFolder(later)) return
  if (!existsSync(join(later, OBJECTS))) throw new Complaint(`${later} is no folder with the data of Laurel.`)
  if (await isServed(later)) throw new Complaint(`A server uses ${later}. End it first.`)
}

/** Replaces the list of deletions of the backup by a later one. */
async function takeDeletions(/** @type {string} */ later, /** @type {AbortSignal} */ signal) {
  const folder = isFolder(later) ? later : join(RESTORING, 'later')
  if (folder !== later) await unpack(later, folder, signal)
  const [list, own] = [join(folder, OBJECTS, DELETIONS), join(RESTORING, OBJECTS, DELETIONS)]
  // Nothing was deleted in the last 31 days.
  if (!existsSync(list)) return
  rmSync(own, { recursive: true, force: true })
  await cp(list, own, { recursive: true, filter: isCopied })
}
