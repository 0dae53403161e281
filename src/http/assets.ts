import type { Bindings } from '../runtime/env'

/**
 * One of the Worker's assets (`scripts/lib/assets.mjs`), by its name. Throws if it is missing, so that no
 * cache keeps the failure.
 */
export async function readAsset({ ASSETS }: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> {
  const asset = await ASSETS.fetch(`http://assets/${name}`)
  if (!asset.ok) throw new Error(`The asset ${name} could not be read: status ${asset.status}.`)
  return asset
}
