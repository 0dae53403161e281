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
 */

/**
 * @param {Settings} settings
 * @param {{ variables: string[]; isPrivateAllowed: boolean; databases: number }} options the variables that
 *   the Worker may have, by name; whether it may reach private addresses; how many databases it has
 */
export function configuration(settings, { variables, isPrivateAllowed, databases }) {
  const { compatibilityDate: date, compatibilityFlags: flags } = settings
  const bindings = [
    ...variables.map((name) => `(name = ${text(name)}, fromEnvironment = ${text(name)})`),
    ...numbersTo(databases).map(
      (number) =>
        `(name = ${text(bindingOf(number))}, wrapped = (moduleName = "laurel:database", innerBindings = [(name = "objects", durableObjectNamespace = "Database"), (name = "name", ${json(nameOf(number))})]))`,
    ),
    '(name = "DATABASE_OBJECTS", durableObjectNamespace = "Database")',
    `(name = "DATABASE_LIST", ${json(numbersTo(databases).map((number) => ({ binding: bindingOf(number), name: nameOf(number) })))})`,
    '(name = "KEY_VALUES", durableObjectNamespace = "KeyValues")',
    '(name = "QUEUES", durableObjectNamespace = "MessageQueue")',
    '(name = "CONSUMER", service = (name = "laurel", entrypoint = "Consumer"))',
    `(name = "CONSUMERS", ${json(settings.consumers)})`,
    ...settings.namespaces.map(
      (name) =>
        `(name = ${text(name)}, kvNamespace = (name = "laurel", entrypoint = "KeyValuesEntry", props = (${json({ namespace: name })})))`,
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
  const classes = [
    ...settings.objects.map(({ className }) => className),
    ...['Database', 'KeyValues', 'MessageQueue'],
  ]
  const objects = classes.map(
    (className) =>
      `(className = ${text(className)}, uniqueKey = ${text(`laurel-${className}`)}, enableSql = true)`,
  )
  return `# Made by scripts/serve.mjs at each start. Changes are lost.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "laurel", worker = .laurel),
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
      (name = "laurel:rate-limit", internal = true, esModule = embed "/rate-limit.mjs")
    ])
  ]
);

const laurel :Workerd.Worker = (
  modules = [
    (name = "entry.mjs", esModule = embed "/entry.mjs"),
    (name = "directory.mjs", esModule = embed "/directory.mjs"),
    (name = "restored.mjs", esModule = embed "/restored.mjs"),
    (name = "laurel.js", esModule = embed "/laurel.js"),
    (name = "platform.mjs", esModule = embed "/platform.mjs"),
    (name = "migrations.json", json = embed "/migrations.json")
  ],
  compatibilityDate = ${text(date)},
  compatibilityFlags = [${flags.map(text).join(', ')}],
  bindings = ${list(bindings)},
  durableObjectNamespaces = ${list(objects)},
  durableObjectStorage = (localDisk = "data")
);
`
}
