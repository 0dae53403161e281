import type { Bindings } from '../platform/env'

/**
 * One of the Worker's assets (`scripts/lib/assets.mjs`), by its name. Throws if it is missing, so that no
 * cache keeps the failure.
 */
export async function readAsset(env: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> {
  const asset = await findAsset(env, name)
  if (!asset.ok) throw new Error(`The asset ${name} could not be read: status ${asset.status}.`)
  return asset
}

/** The same for an asset that may be missing: the answer is then not `ok`. `name` is a relative path. */
export const findAsset = ({ ASSETS }: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> =>
  ASSETS.fetch(`http://assets/${name}`)
