/** Files that are on the disk: for `backup` and `restore`. */
import { chown, open, readdir, rename } from 'node:fs/promises'
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

/** Gives a file or folder to the owner if this is root, and waits until it is on the disk. */
export async function give(/** @type {string} */ path, /** @type {{ uid: number; gid: number }} */ owner) {
  if (process.getuid?.() === 0) await chown(path, owner.uid, owner.gid)
  await sync(path)
}

/** Gives a folder, and all in it, to the owner if this is root, and waits until all of it is on the disk. */
export async function giveAll(
  /** @type {string} */ folder,
  /** @type {{ uid: number; gid: number }} */ owner,
) {
  const names = await readdir(folder, { recursive: true })
  for (const name of ['', ...names]) await give(join(folder, name), owner)
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
