/** The folder with the data of `npm run serve`: what is in it, and that one server at a time uses it. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { newTokenSecret } from '../lib/dev-vars.mjs'
import { isAnswered, listenError } from '../lib/port.mjs'
import { Complaint, inHome, makeHome } from '../lib/project.mjs'
import { until } from '../lib/until.mjs'

/** The data itself: the folder that workerd keeps its files in. */
export const OBJECTS = 'objects'
/** The same while a restore writes it. */
export const RESTORING = 'objects.part'
/** A file that is there after a restore, until the database knows of it. */
export const RESTORED = 'restored'
/** A file that is there during the first start, until the tables are made. */
export const FIRST_START = 'first-start'
/** The name of a backup's copy of the data begins with this. */
export const SNAPSHOT = 'snapshot-'
/** The file with the secret of tokens, if the variable TOKEN_SECRET is not set. No backup has it. */
const TOKEN_SECRET = 'token-secret'
/** The Unix socket for the calls of `backup` and of the Worker. It locks the folder while the server runs. */
export const SERVER = 'serve.sock'
/** The Unix socket on which the Worker takes the calls of the server. */
export const CONTROL = 'control.sock'
/** The Unix socket on which the Worker takes the requests of clients. */
export const PUBLIC = 'public.sock'
/** The configuration of workerd, while the server runs. */
export const CONFIGURATION = 'workerd.capnp'
/** The files that are there while the server runs. */
const OF_SERVER = [SERVER, CONTROL, PUBLIC, CONFIGURATION]

/** How long a server that is ending may still use the folder, in milliseconds. */
const PATIENCE = 2000

/**
 * Makes the folder that LAUREL_DATA names the current one, and returns its path. It is the current one because
 * the path of a socket may be no longer than a hundred characters.
 */
export function enterData(/** @type {string | undefined} */ name) {
  const folder = resolve(name || 'data')
  // For workerd too: what it writes is for its user only, whatever the mode of the folder.
  process.umask(0o077)
  try {
    const isNew = !existsSync(folder)
    if (folder === inHome('data')) makeHome()
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // One that was mounted may belong to another user, who alone may change its mode.
    const isOwn = [0, statSync(folder).uid].includes(process.getuid?.() ?? 0)
    if (!isNew && isOwn && readdirSync(folder).length === 0) chmodSync(folder, 0o700)
    process.chdir(folder)
  } catch (error) {
    throw new Complaint(`LAUREL_DATA can't be used: ${Object(error).message}`)
  }
  return folder
}

/**
 * The secret of tokens that the folder keeps. Makes one if there is none. Throws a Complaint if `problemsOf`
 * finds any.
 *
 * @param {(variables: Record<string, string>) => Promise<string[]>} problemsOf
 */
export async function keptTokenSecret(problemsOf) {
  try {
    const kept = existsSync(TOKEN_SECRET) ? (await readFile(TOKEN_SECRET, 'utf8')).trim() : ''
    const [problem] = await problemsOf({ TOKEN_SECRET: kept })
    if (problem !== undefined) throw new Error(problem)
    // After a power failure, the file may be empty.
    if (kept !== '') return kept
  } catch (error) {
    throw new Complaint(
      `The file ${resolve(TOKEN_SECRET)} can't be used: ${Object(error).message}\nPut the secret back, or remove the file: the server then makes a new one, and all tokens end.`,
    )
  }
  const secret = newTokenSecret()
  await writeFile(`${TOKEN_SECRET}.part`, `${secret}\n`, { mode: 0o600 })
  await rename(`${TOKEN_SECRET}.part`, TOKEN_SECRET)
  return secret
}

/** Refuses a folder that a restore has not completed. */
export function demandWhole(/** @type {string} */ folder) {
  if (existsSync(RESTORING))
    throw new Complaint(`A restore into ${folder} was interrupted. Empty the folder, and restore again.`)
}

/** Is true if the folder is empty, apart from the files of a server that was killed, and `lost+found`. */
export const isEmpty = () => readdirSync('.').every((name) => [...OF_SERVER, 'lost+found'].includes(name))

/**
 * Locks the folder for this process, until it ends, however it ends. `answer` takes the calls of `backup`.
 * Throws a Complaint if another process uses the folder.
 *
 * @type {(folder: string, answer: import('node:http').RequestListener) => Promise<void>}
 */
export async function lockData(folder, answer) {
  const isFree = async () => {
    const error = await listenError(createServer(answer), { path: SERVER })
    if (error === undefined) return true
    if (error.code !== 'EADDRINUSE') throw new Complaint(`LAUREL_DATA can't be used: ${error.message}`)
    if (!(await isAnswered({ path: SERVER }))) await removeStale()
    return false
  }
  const waiting = { patience: PATIENCE, pause: 50 }
  isLocked = await until(isFree, waiting)
  // The Worker of a server that was killed ends a moment later.
  if (!isLocked || !(await until(async () => !(await isAnswered({ path: CONTROL })), waiting)))
    throw new Complaint(
      `Another server uses the data in ${folder}. End it first, or set LAUREL_DATA to another folder.`,
    )
  chmodSync(SERVER, 0o600)
  for (const name of [CONTROL, PUBLIC]) remove(name)
  for (const name of readdirSync('.'))
    if (name.startsWith(SNAPSHOT)) rmSync(name, { recursive: true, force: true })
}

let isLocked = false

/** Removes a file that may be gone. Not by `rmSync`, which says of one of another user that it is no folder. */
function remove(/** @type {string} */ name) {
  try {
    unlinkSync(name)
  } catch (error) {
    if (Object(error).code !== 'ENOENT') throw error
  }
}

/** Gives the folder free, if this process has locked it. Returns the errors: the next start removes the rest. */
export const unlockData = () =>
  (isLocked ? OF_SERVER : []).flatMap((name) => {
    try {
      remove(name)
      return []
    } catch (error) {
      return [Object(error).message]
    }
  })

/** Removes the socket of a server that was killed, but not that of one that starts at the same time. */
async function removeStale() {
  const aside = `${SERVER}.${randomUUID().slice(0, 8)}`
  try {
    await rename(SERVER, aside)
  } catch (error) {
    // Another one has.
    if (Object(error).code === 'ENOENT') return
    throw error
  }
  if (await isAnswered({ path: aside })) await rename(aside, SERVER)
  else remove(aside)
}

/** Is true if a server uses the folder, which is by default the current one. */
export const isServed = (folder = '.') => isAnswered({ path: relative('.', join(folder, SERVER)) })

/** Calls the Worker. `retryAfter` is the header of that name. */
export async function callWorker(/** @type {string} */ path, /** @type {AbortSignal | undefined} */ signal) {
  const answer = await send(CONTROL, path, signal)
  const { statusCode: status = 0, headers } = answer
  return { status, text: await text(answer), retryAfter: headers['retry-after'] }
}

/**
 * Sends a call to a Unix socket, and waits for the head of the answer.
 *
 * @type {(socketPath: string, path: string, signal?: AbortSignal) => Promise<import('node:http').IncomingMessage>}
 */
export async function send(socketPath, path, signal) {
  const call = request({ socketPath, path, method: 'POST', headers: { Host: 'laurel' }, signal })
  call.end()
  const [answer] = await once(call, 'response')
  return answer
}
