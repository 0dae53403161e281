/** Files that are on the disk: for `backup` and `restore`. */
import { open, readdir, rename } from 'node:fs/promises'
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

/** Waits until a folder, and all files and folders in it, are on the disk. */
export async function syncAll(/** @type {string} */ folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    await (entry.isDirectory() ? syncAll(path) : sync(path))
  }
  await sync(folder)
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
