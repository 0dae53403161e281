/** Files that are on the disk: for `backup` and `restore`. */
import { chown, open, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Waits until a file is on the disk. For a folder: until the names in it are. */
export async function sync(/** @type {string} */ path) {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } catch (error) {
    // Some network file systems can't do this for a folder.
    if (Object(error).code !== 'EINVAL') throw error
  } finally {
    await file.close()
  }
}

/**
 * Gives a file, or a folder and all in it, to the owner of the current folder if this is root, and waits until all of
 * it is on the disk.
 */
export async function give(/** @type {string} */ path) {
  const { uid, gid } = await stat('.')
  const names = (await stat(path)).isDirectory() ? await readdir(path, { recursive: true }) : []
  for (const one of [path, ...names.map((name) => join(path, name))]) {
    if (process.getuid?.() === 0) await chown(one, uid, gid)
    await sync(one)
  }
}

/** Renames, and waits until the name is on the disk. If that is not certain, throws, and undoes it. */
export async function renameAndSync(/** @type {string} */ from, /** @type {string} */ to) {
  await rename(from, to)
  try {
    await sync(dirname(to))
  } catch (error) {
    await rename(to, from)
    throw error
  }
}
