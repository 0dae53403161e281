/** Prints the settings of the Worker, as wrangler reads `wrangler.toml`. Needs the Node of wrangler. */
import { experimental_readRawConfig, unstable_readConfig } from 'wrangler'
import { inProject } from '../lib/project.mjs'

/** The settings that the scripts use. The other ones name files of this machine. */
const NEEDED = [
  ...['compatibility_date', 'compatibility_flags', 'd1_databases', 'kv_namespaces', 'durable_objects'],
  ...['assets', 'queues', 'ratelimits', 'triggers', 'route', 'routes', 'vars'],
]

const path = { config: inProject('wrangler.toml') }
const needed = Object.entries(unstable_readConfig(path)).filter(([name]) => NEEDED.includes(name))
const settings = { ...Object.fromEntries(needed), raw: experimental_readRawConfig(path).rawConfig }
process.stdout.write(JSON.stringify(settings))
