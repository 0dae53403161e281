/**
 * The configuration of workerd for `npm run serve`, in workerd's own text format. It holds no secret:
 * variables come from the environment of the process, addresses and folders from its command line.
 */
import { bindingOf, nameOf, numbersTo } from '../lib/databases.mjs'
import { SERVER } from './data.mjs'

/** A string of the text format. */
const text = (/** @type {string} */ value) => JSON.stringify(value)
const json = (/** @type {unknown} */ value) => `json = ${text(JSON.stringify(value))}`
const list = (/** @type {string[]} */ items) => `[\n    ${items.join(',\n    ')}\n  ]`

/**
 * What settings.mjs prints: parts of wrangler.toml under its own names, with wrangler's defaults, and the whole file
 * as `raw`. Only the build for the package has `vars` and `raw`.
 *
 * @typedef {import('wrangler').Unstable_Config & { raw: Record<string, any> }} Settings
 */

/**
 * @param {Settings} settings
 * @param {{ variables: string[]; isPrivateAllowed: boolean; databases: number }} options the variables that
 *   the Worker may have, by name; whether it may reach private addresses; how many databases it has
 */
export function configuration(settings, { variables, isPrivateAllowed, databases }) {
  const bindings = [
    ...variables.map((name) => `(name = ${text(name)}, fromEnvironment = ${text(name)})`),
    ...numbersTo(databases).map(
      (number) =>
        `(name = ${text(bindingOf(number))}, wrapped = (moduleName = "laurel:database", innerBindings = [(name = "objects", durableObjectNamespace = "Database"), (name = "name", ${json(nameOf(number))})]))`,
    ),
    ...databaseObjects(databases),
    '(name = "QUEUES", durableObjectNamespace = "MessageQueue")',
    '(name = "CONSUMER", service = (name = "laurel", entrypoint = "Consumer"))',
    `(name = "CONSUMERS", ${json(consumersOf(settings))})`,
    ...settings.kv_namespaces.map(
      ({ binding }) =>
        `(name = ${text(binding)}, wrapped = (moduleName = "laurel:key-values", innerBindings = []))`,
    ),
    `(name = ${text(settings.assets?.binding ?? '')}, service = "assets")`,
    '(name = "SERVER", service = "server")',
    ...settings.durable_objects.bindings.map(
      ({ name, class_name }) => `(name = ${text(name)}, durableObjectNamespace = ${text(class_name)})`,
    ),
    ...(settings.queues.producers ?? []).map(
      ({ binding, queue }) =>
        `(name = ${text(binding)}, queue = (name = "laurel", entrypoint = "QueueEntry", props = (${json({ queue })})))`,
    ),
    ...settings.ratelimits.map(
      ({ name, simple: { limit, period } }) =>
        `(name = ${text(name)}, wrapped = (moduleName = "laurel:rate-limit", innerBindings = [(name = "limit", ${json(limit)}), (name = "period", ${json(period)})]))`,
    ),
  ]
  return `${HEAD}
    (name = "assets", disk = (writable = false)),
    (name = "data", disk = (writable = true)),
    (name = "server", external = (address = "unix:${SERVER}", http = ())),
    (name = "internet", network = (
      allow = ${isPrivateAllowed ? '["public", "private"]' : '["public"]'},
      tlsOptions = (trustBrowserCas = true)
    ))
  ],
  sockets = [
    (name = "public", http = (), service = "laurel"),
    (name = "control", http = (), service = (name = "laurel", entrypoint = "Control"))
  ],
  extensions = [
    (modules = [
      (name = "laurel:database", internal = true, esModule = embed "/database.mjs"),
      (name = "laurel:key-values", internal = true, esModule = embed "/key-values.mjs"),
      (name = "laurel:rate-limit", internal = true, esModule = embed "/rate-limit.mjs")
    ])
  ]
);

${worker(settings, ['entry.mjs', 'restored.mjs', 'laurel.js'], bindings, classesOf(settings))}`
}

/** The configuration of the workerd that looks at the databases before the server starts. */
export const lookConfiguration = (
  /** @type {Settings} */ settings,
  /** @type {number} */ databases,
) => `${HEAD}
    (name = "data", disk = (writable = true))
  ],
  sockets = [(name = "control", http = (), service = "laurel")]
);

${worker(settings, ['look.mjs'], databaseObjects(databases), ['Database'])}`

const HEAD = `# Made by scripts/serve.mjs at each start. Changes are lost.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "laurel", worker = .laurel),`

/** The settings of each queue with a consumer. */
const consumersOf = (/** @type {Settings} */ { queues }) =>
  Object.fromEntries((queues.consumers ?? []).map(({ queue, ...rest }) => [queue, rest]))

const databaseObjects = (/** @type {number} */ databases) => [
  '(name = "DATABASE_OBJECTS", durableObjectNamespace = "Database")',
  `(name = "DATABASE_LIST", ${json(numbersTo(databases).map((number) => ({ binding: bindingOf(number), name: nameOf(number) })))})`,
]

/** The classes of objects. The objects of each one are in a folder of their own. */
export const classesOf = (/** @type {Settings} */ settings) => [
  ...settings.durable_objects.bindings.map((one) => one.class_name),
  ...['Database', 'MessageQueue'],
]

/** @type {(settings: Settings, modules: string[], bindings: string[], classes: string[]) => string} */
const worker = ({ compatibility_date: date = '', compatibility_flags: flags }, modules, bindings, classes) =>
  `const laurel :Workerd.Worker = (
  modules = ${list([
    ...[...modules, 'directory.mjs', 'platform.mjs'].map(
      (name) => `(name = ${text(name)}, esModule = embed ${text(`/${name}`)})`,
    ),
    '(name = "migrations.json", json = embed "/migrations.json")',
  ])},
  compatibilityDate = ${text(date)},
  compatibilityFlags = [${flags.map(text).join(', ')}],
  bindings = ${list(bindings)},
  durableObjectNamespaces = ${list(
    classes.map(
      (name) => `(className = ${text(name)}, uniqueKey = ${text(`laurel-${name}`)}, enableSql = true)`,
    ),
  )},
  durableObjectStorage = (localDisk = "data")
);
`
