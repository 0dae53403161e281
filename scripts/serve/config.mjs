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
 * @typedef {object} Settings of the Worker, as wrangler.toml has them
 * @property {string} compatibilityDate
 * @property {string[]} compatibilityFlags
 * @property {{ binding: string; name: string }[]} databases the bindings of D1, and the names there
 * @property {string[]} namespaces the bindings of KV
 * @property {string} assets the binding of the assets
 * @property {{ name: string; className: string }[]} objects
 * @property {{ binding: string; queue: string }[]} producers
 * @property {Record<string, Record<string, unknown>>} consumers by queue, with the names of wrangler.toml
 * @property {{ name: string; limit: number; period: number }[]} rateLimits
 * @property {string[]} crons
 * @property {string[]} routes their patterns
 * @property {Record<string, string>} variables that it sets itself. No build has them
 * @property {Record<string, any>} raw the content of the file. No build has it
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
    `(name = "CONSUMERS", ${json(settings.consumers)})`,
    ...settings.namespaces.map(
      (name) => `(name = ${text(name)}, wrapped = (moduleName = "laurel:key-values", innerBindings = []))`,
    ),
    `(name = ${text(settings.assets)}, service = "assets")`,
    '(name = "SERVER", service = "server")',
    ...settings.objects.map(
      ({ name, className }) => `(name = ${text(name)}, durableObjectNamespace = ${text(className)})`,
    ),
    ...settings.producers.map(
      ({ binding, queue }) =>
        `(name = ${text(binding)}, queue = (name = "laurel", entrypoint = "QueueEntry", props = (${json({ queue })})))`,
    ),
    ...settings.rateLimits.map(
      ({ name, limit, period }) =>
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

const databaseObjects = (/** @type {number} */ databases) => [
  '(name = "DATABASE_OBJECTS", durableObjectNamespace = "Database")',
  `(name = "DATABASE_LIST", ${json(numbersTo(databases).map((number) => ({ binding: bindingOf(number), name: nameOf(number) })))})`,
]

/** The classes of objects. The objects of each one are in a folder of their own. */
export const classesOf = (/** @type {Settings} */ { objects }) => [
  ...objects.map(({ className }) => className),
  ...['Database', 'MessageQueue'],
]

/** @type {(settings: Settings, modules: string[], bindings: string[], classes: string[]) => string} */
const worker = ({ compatibilityDate, compatibilityFlags: flags }, modules, bindings, classes) =>
  `const laurel :Workerd.Worker = (
  modules = ${list([
    ...[...modules, 'directory.mjs', 'platform.mjs'].map(
      (name) => `(name = ${text(name)}, esModule = embed ${text(`/${name}`)})`,
    ),
    '(name = "migrations.json", json = embed "/migrations.json")',
  ])},
  compatibilityDate = ${text(compatibilityDate)},
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
