/** Rows of tenants, read and changed behind Laurel's back: what no request shows or does. */
import { env } from 'cloudflare:workers'
import { rowsEverywhere } from './harness'

/** Makes all isolates read the configuration again, after a test has changed its rows. */
export async function raiseVersion({ id }: { id: string }): Promise<void> {
  await rowsEverywhere('UPDATE tenants SET config_version = config_version + 1 WHERE id = ?1', id)
}

/** The secret that signs a tenant's links in emails; null if there is none yet (N3). */
export const linkSecretOf = ({ id }: { id: string }): Promise<string | null> =>
  env.DB.prepare('SELECT link_secret FROM tenants WHERE id = ?1').bind(id).first('link_secret')
