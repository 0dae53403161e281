/** Prints the settings of the Worker, as wrangler reads `wrangler.toml`. Needs the Node of wrangler. */
import { experimental_readRawConfig, unstable_readConfig } from 'wrangler'
import { inProject } from '../lib/project.mjs'

const path = { config: inProject('wrangler.toml') }
const config = unstable_readConfig(path)

/** @type {import('./config.mjs').Settings} */
const settings = {
  raw: experimental_readRawConfig(path).rawConfig,
  compatibilityDate: config.compatibility_date ?? '',
  compatibilityFlags: config.compatibility_flags,
  databases: config.d1_databases.map(({ binding, database_name: name = binding }) => ({ binding, name })),
  namespaces: config.kv_namespaces.map(({ binding }) => binding),
  assets: config.assets?.binding ?? '',
  objects: config.durable_objects.bindings.map(({ name, class_name: className }) => ({ name, className })),
  producers: (config.queues.producers ?? []).map(({ binding, queue }) => ({ binding, queue })),
  consumers: Object.fromEntries(
    (config.queues.consumers ?? []).map(({ queue, ...settings }) => [queue, settings]),
  ),
  rateLimits: config.ratelimits.map(({ name, simple: { limit, period } }) => ({ name, limit, period })),
  crons: config.triggers.crons ?? [],
  routes: [config.route ?? [], config.routes ?? []]
    .flat()
    .map((route) => (typeof route === 'string' ? route : route.pattern)),
  variables: Object.fromEntries(
    Object.entries(config.vars).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ),
}
process.stdout.write(JSON.stringify(settings))
