/**
 * The configuration of workerd for `npm run serve`, in workerd's own text format. It holds no secret:
 * variables come from the environment of the process.
 */
import { join } from 'node:path'
import { bindingOf, nameOf, numbersTo } from '../lib/databases.mjs'
import { BUILT } from '../lib/project.mjs'
import { CONTROL, OBJECTS, PUBLIC, SERVER } from './data.mjs'

/** A value in the text format. `embed` names a file of the build. */
function textOf(/** @type {any} */ value) {
  if (typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[\n${value.map((one) => `  ${textOf(one)}`).join(',\n')}\n]`
  if ('embed' in value) return `embed ${JSON.stringify(`/${value.embed}`)}`
  return `(${Object.entries(value)
    .map(([name, one]) => `${name} = ${textOf(one)}`)
    .join(', ')})`
}

const json = (/** @type {unknown} */ value) => ({ json: JSON.stringify(value) })

/** wrangler.toml. @typedef {import('wrangler').Unstable_Config} Settings */

/**
 * @param {Settings} settings
 * @param {{ variables: string[]; isPrivateAllowed: boolean; databases: number }} options the variables that
 *   the Worker may have, by name; whether it may reach private addresses; how many databases it has
 */
export function configuration(settings, { variables, isPrivateAllowed, databases }) {
  /** A binding of `bindings.mjs`. @type {(name: string, entrypoint: string, innerBindings: object[]) => object} */
  const wrapped = (name, entrypoint, innerBindings) => ({
    name,
    wrapped: { moduleName: 'laurel:bindings', entrypoint, innerBindings },
  })
  const inObjects = (/** @type {string} */ durableObjectNamespace, /** @type {string} */ name) => [
    { name: 'objects', durableObjectNamespace },
    { name: 'name', ...json(name) },
  ]
  const { consumers = [], producers = [] } = settings.queues
  const bindings = [
    ...variables.map((name) => ({ name, fromEnvironment: name })),
    ...numbersTo(databases).map((number) =>
      wrapped(bindingOf(number), 'database', inObjects('Database', nameOf(number))),
    ),
    ...databaseObjects(databases),
    { name: 'QUEUES', durableObjectNamespace: 'MessageQueue' },
    { name: 'CONSUMERS', ...json(Object.fromEntries(consumers.map(({ queue, ...rest }) => [queue, rest]))) },
    ...settings.kv_namespaces.map(({ binding }) => wrapped(binding, 'keyValues', [])),
    { name: settings.assets?.binding, service: 'assets' },
    { name: 'SERVER', service: 'server' },
    ...settings.durable_objects.bindings.map(({ name, class_name }) => ({
      name,
      durableObjectNamespace: class_name,
    })),
    ...producers.map(({ binding, queue }) => wrapped(binding, 'queue', inObjects('MessageQueue', queue))),
    ...settings.ratelimits.map(({ name, simple }) =>
      wrapped(name, 'rateLimit', [{ name: 'simple', ...json(simple) }]),
    ),
  ]
  const allow = isPrivateAllowed ? ['public', 'private'] : ['public']
  const http = { forwardedProtoHeader: 'X-Forwarded-Proto' }
  return write(settings, {
    modules: ['entry.mjs', 'restored.mjs', 'laurel.js', 'platform.mjs', 'queue.mjs'],
    bindings,
    classes: classesOf(settings),
    control: { name: 'laurel', entrypoint: 'Control' },
    services: [
      { name: 'assets', disk: { path: join(BUILT, 'assets') } },
      { name: 'server', external: { address: `unix:${SERVER}`, http: {} } },
      { name: 'internet', network: { allow, tlsOptions: { trustBrowserCas: true } } },
    ],
    sockets: [{ name: 'public', address: `unix:${PUBLIC}`, http, service: 'laurel' }],
  })
}

/** The configuration of the workerd that looks at the databases before the server starts. */
export const lookConfiguration = (/** @type {Settings} */ settings, /** @type {number} */ databases) =>
  write(settings, {
    modules: ['platform.mjs'],
    bindings: databaseObjects(databases),
    classes: ['Database'],
    control: 'laurel',
  })

const databaseObjects = (/** @type {number} */ databases) => [
  { name: 'DATABASE_OBJECTS', durableObjectNamespace: 'Database' },
  {
    name: 'DATABASE_LIST',
    ...json(numbersTo(databases).map((number) => ({ binding: bindingOf(number), name: nameOf(number) }))),
  },
]

/** The classes of objects. The objects of each one are in a folder of their own. */
export const classesOf = (/** @type {Settings} */ settings) => [
  ...settings.durable_objects.bindings.map((one) => one.class_name),
  ...['Database', 'MessageQueue'],
]

/**
 * Writes what both have, and more services and sockets. `control` takes the calls of the server.
 *
 * @type {(
 *   settings: Settings,
 *   parts: Record<'modules' | 'classes', string[]> & { control: string | object } &
 *     Partial<Record<'bindings' | 'services' | 'sockets', object[]>>,
 * ) => string}
 */
function write(settings, { modules, bindings, classes, control, services = [], sockets = [] }) {
  const worker = {
    modules: [
      ...[...modules, 'directory.mjs'].map((name) => ({ name, esModule: { embed: name } })),
      { name: 'migrations.json', json: { embed: 'migrations.json' } },
    ],
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags ?? [],
    bindings,
    durableObjectNamespaces: classes.map((className) => ({
      className,
      uniqueKey: `laurel-${className}`,
      enableSql: true,
      // Otherwise workerd closes a database ten seconds after its last call. On a full disk, it can't open it again.
      preventEviction: className === 'Database',
    })),
    durableObjectStorage: { localDisk: 'data' },
  }
  const data = { name: 'data', disk: { path: OBJECTS, writable: true } }
  const config = {
    services: [{ name: 'laurel', worker }, data, ...services],
    sockets: [{ name: 'control', address: `unix:${CONTROL}`, http: {}, service: control }, ...sockets],
    extensions: [
      { modules: [{ name: 'laurel:bindings', internal: true, esModule: { embed: 'bindings.mjs' } }] },
    ],
  }
  return `# Made by scripts/serve.mjs at each start. Changes are lost.
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = ${textOf(config)};
`
}
