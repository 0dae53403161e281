/** What a deployment consists of, by `wrangler.toml` and the account: finds its parts, and makes what is missing. */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { Account, askDatabase } from './cloudflare.mjs'
import { demandBound } from './databases.mjs'
import { Complaint, commandOf, inHome, makeHome } from './project.mjs'
import { readSettings } from './wrangler.mjs'
import { databasesOf } from './wrangler-toml.mjs'

/** @typedef {import('./cloudflare.mjs').Row} Row */

/**
 * A part of a deployment. `id` is missing while it does not exist.
 *
 * @typedef {{ kind: 'D1 database' | 'KV namespace' | 'queue'; name: string; id?: string | undefined; binding?: string }} Part
 */

/** The kinds of parts in the API: the path of their list, and the names of the fields with the name and the id. */
export const KINDS = {
  'D1 database': { path: '/d1/database', title: 'name', id: 'uuid' },
  'KV namespace': { path: '/storage/kv/namespaces', title: 'title', id: 'id' },
  queue: { path: '/queues', title: 'queue_name', id: 'queue_id' },
}

/** The places of a database, as `--location` takes them. */
export const PLACES = {
  weur: 'Western Europe',
  eeur: 'Eastern Europe',
  wnam: 'Western North America',
  enam: 'Eastern North America',
  apac: 'Asia and the Pacific',
  oc: 'Oceania',
}

/** The place nearest to this computer, by its time zone and the minutes that it is behind UTC. */
export function nearestPlace(
  zone = Intl.DateTimeFormat().resolvedOptions().timeZone,
  behind = new Date(2026, 0, 1).getTimezoneOffset(),
) {
  if (/^(Australia|Pacific)\//.test(zone)) return 'oc'
  if (/^America\//.test(zone)) return behind >= 420 ? 'wnam' : 'enam'
  if (/^(Asia|Indian)\//.test(zone) && behind <= -300) return 'apac'
  return behind <= -120 ? 'eeur' : 'weur'
}

/** A name of a Worker. Names of databases, queues and namespaces begin with it. */
const NAME = /^[a-z][a-z\d-]{0,40}[a-z\d]$/

/** An id that stands for one, as older versions of wrangler.toml had them. */
const idIn = (/** @type {unknown} */ value) =>
  typeof value === 'string' && /[1-9a-f]/i.test(value) ? value : undefined

/**
 * The configuration for wrangler under a name. With another name than that of the file it is another deployment:
 * all its resources have other names, and ids, addresses and hosts of the file do not count.
 *
 * @param {Row} file the content of wrangler.toml
 * @param {string | undefined} given the name, if it was given
 */
export function namedConfig(file, given) {
  const name = given ?? process.env.WRANGLER_CI_OVERRIDE_NAME ?? file.name
  if (!NAME.test(name))
    throw new Complaint(
      `${name} can't be a name: it consists of small letters, digits and -, and has 2 to 42 of them.`,
    )
  const isOther = given !== undefined && given !== file.name
  const renamed = (/** @type {string} */ old) =>
    !isOther ? old : `${name}-${old}`.replace(`${name}-${file.name}`, name)
  const { account_id, routes, route, workers_dev, vars = {}, queues = {}, ...rest } = file
  const { PUBLIC_URL: _, ADMIN_HOST: __, ...common } = vars
  return {
    ...rest,
    name,
    account_id,
    ...(!isOther && { routes, route, workers_dev }),
    vars: isOther ? common : vars,
    d1_databases: (file.d1_databases ?? []).map((/** @type {Row} */ { database_id, ...one }) => ({
      ...one,
      database_name: renamed(one.database_name ?? `${file.name}-${one.binding.toLowerCase()}`),
      database_id: isOther ? undefined : idIn(database_id),
    })),
    kv_namespaces: (file.kv_namespaces ?? []).map((/** @type {Row} */ { id, ...one }) => ({
      ...one,
      id: isOther ? undefined : idIn(id),
    })),
    queues: Object.fromEntries(
      Object.entries(queues).map(([kind, list]) => [
        kind,
        list.map((/** @type {Row} */ { queue, dead_letter_queue: dead, ...one }) => ({
          ...one,
          queue: renamed(queue),
          ...(dead !== undefined && { dead_letter_queue: renamed(dead) }),
        })),
      ]),
    ),
    ratelimits: (file.ratelimits ?? []).map((/** @type {Row} */ limit, /** @type {number} */ index) =>
      isOther ? { ...limit, namespace_id: limitId(name, index) } : limit,
    ),
  }
}

/** The number of a rate limit, which no other Worker of the account may use. */
const limitId = (/** @type {string} */ name, /** @type {number} */ index) =>
  String(createHash('sha256').update(`${name} ${index}`).digest().readUInt32BE() + 10_000)

/** What the account has of a deployment. */
export class Deployment {
  /** The bindings of the Worker in the account; undefined if there is no Worker. @type {Row[] | undefined} */
  worker
  /** @type {Part[]} */
  parts = []
  /** The domains of the Worker. @type {Row[]} */
  domains = []

  /**
   * @param {Account} account
   * @param {Row} config
   */
  constructor(account, config) {
    this.account = account
    this.config = config
  }

  /** Asks the account. Throws a Complaint if a name belongs to something else. */
  async look() {
    const { account, config } = this
    this.worker = (await account.find(`/workers/scripts/${config.name}/settings`))?.bindings
    if (this.worker !== undefined) this.#demandOurs()
    this.domains = await account.list('/workers/domains', { service: config.name })
    const databases = []
    for (const database of config.d1_databases) databases.push(await this.found(database))
    this.parts = [...databases, ...(await this.#namespaces()), ...(await this.#queues())]
    return this
  }

  /** Is true until the Worker has its objects. A build on Cloudflare makes an empty Worker first. */
  get isFirst() {
    return !this.worker?.some(({ class_name: name }) => this.#classes.includes(name))
  }

  get #classes() {
    return this.config.durable_objects.bindings.map((/** @type {Row} */ one) => one.class_name)
  }

  /** The Worker of a build on Cloudflare exists before its first deployment, and wrangler checks that it is it. */
  #demandOurs() {
    if (process.env.WRANGLER_CI_MATCH_TAG || !this.isFirst) return
    throw new Complaint(
      `The account has a Worker called ${this.config.name} that is not Laurel. Choose another name with --name, such as --name ${this.config.name}-2, or delete it if you have made it by \`secret put\`. Nothing was changed.`,
    )
  }

  /** The id to which the Worker is bound. */
  #boundTo(/** @type {string} */ binding) {
    const { id, namespace_id } = this.worker?.find(({ name }) => name === binding) ?? {}
    return id ?? namespace_id
  }

  /**
   * A database of the configuration: that of its id, that to which the Worker is bound, or that of its name.
   *
   * @returns {Promise<Part>}
   */
  async found(/** @type {Row} */ { binding, database_name: name, database_id }) {
    const known = database_id ?? this.#boundTo(binding)
    if (known !== undefined) return { kind: 'D1 database', name, id: known, binding }
    const named = await this.account.list('/d1/database', { name })
    const id = named.find((one) => one.name === name)?.uuid
    if (id !== undefined) {
      await this.#demandLaurel({ name, id })
      await this.#demandFree({ name, id })
    }
    return { kind: 'D1 database', name, id, binding }
  }

  /** Throws if a database that was found by its name has tables of something else. */
  async #demandLaurel(/** @type {import('./cloudflare.mjs').Database} */ database) {
    const rows = await askDatabase(this.account, database, TABLES)
    if (rows.length === 0 || rows.some(({ name }) => name === 'schema_version')) return
    throw new Complaint(
      `The account has a D1 database called ${database.name} that is not Laurel's. Choose another name with --name. Nothing was changed.`,
    )
  }

  /** Throws if it is one of another deployment: `laurel-2` is the second one of `laurel`, or the first of `laurel-2`. */
  async #demandFree(/** @type {import('./cloudflare.mjs').Database} */ { name, id }) {
    for (const owner of new Set([name, name.replace(/-\d+$/, '')])) {
      if (owner === this.config.name) continue
      const found = await this.account.find(`/workers/scripts/${owner}/settings`)
      if (!found?.bindings?.some((/** @type {Row} */ one) => one.id === id)) continue
      throw new Complaint(
        `The D1 database ${name} belongs to the Worker ${owner}. Choose another name with --name, or as database_name in wrangler.toml. Nothing was changed.`,
      )
    }
  }

  async #namespaces() {
    const all = this.config.kv_namespaces
    const wanted = all.map((/** @type {Row} */ one) => one.id ?? this.#boundTo(one.binding))
    const existing = wanted.every(Boolean) ? [] : await this.account.list('/storage/kv/namespaces')
    return all.map((/** @type {Row} */ { binding }, /** @type {number} */ index) => {
      const name = `${this.config.name}-${binding.toLowerCase()}`
      const id = wanted[index] ?? existing.find(({ title }) => title === name)?.id
      return { kind: 'KV namespace', name, id, binding }
    })
  }

  async #queues() {
    const { producers = [], consumers = [] } = this.config.queues
    const names = [...producers, ...consumers].flatMap(({ queue, dead_letter_queue: dead }) => [queue, dead])
    const wanted = [...new Set(names.filter(Boolean))]
    const existing = await this.account.list('/queues', { name: wanted })
    return wanted.map((name) => {
      const { queue_id: id, consumers: readers = [] } = existing.find((one) => one.queue_name === name) ?? {}
      const [other] = readers
        .map((/** @type {Row} */ { script, service }) => script ?? service)
        .filter((/** @type {string} */ script) => script !== this.config.name)
      if (other !== undefined)
        throw new Complaint(
          `The queue ${name} is read by the Worker ${other}. Choose another name with --name. Nothing was changed.`,
        )
      return /** @type {Part} */ ({ kind: 'queue', name, id })
    })
  }

  /** A file about it on this machine: `secrets` while it has not ended well yet, or what wrangler gets and says. */
  fileOf(/** @type {'secrets' | 'configuration' | 'result'} */ what) {
    makeHome()
    mkdirSync(inHome('deployments'), { recursive: true })
    return inHome('deployments', `${this.account.id}.${this.config.name}.${what}.json`)
  }

  /** Laurel's databases that exist, the first one first. */
  get databases() {
    const found = this.parts.map(({ binding = '', name, id = '' }) => ({ binding, name, id }))
    return databasesOf(found).filter(({ id }) => id !== '')
  }

  get missing() {
    return this.parts.filter(({ id }) => id === undefined)
  }

  /** Makes a part that is missing. `place` is where a database will be. */
  async make(/** @type {Part} */ part, /** @type {Row} */ place) {
    const { path, title, id } = KINDS[part.kind]
    const body = { [title]: part.name, ...(part.kind === 'D1 database' && place) }
    part.id = (await this.account.ask(path, { method: 'POST', body }))[id]
  }

  /** The configuration with the ids of all parts. */
  get bound() {
    const withIds = (/** @type {Row[]} */ list, /** @type {string} */ field) =>
      list.map((one) => ({ ...one, [field]: this.parts.find(({ binding }) => binding === one.binding)?.id }))
    const { d1_databases, kv_namespaces } = this.config
    return {
      ...this.config,
      account_id: this.account.id,
      d1_databases: withIds(d1_databases, 'database_id'),
      kv_namespaces: withIds(kv_namespaces, 'id'),
    }
  }
}

/** The tables of a database that are not Cloudflare's. */
const TABLES =
  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND name != 'd1_migrations'"

/** What the account has of the deployment of a name; without one, of that in wrangler.toml. */
export async function findDeployment(/** @type {string | undefined} */ name) {
  const config = namedConfig(await readSettings(), name)
  return new Deployment(await Account.open(config.account_id), config).look()
}

/** The names of Laurel's databases, the first one first. Throws a Complaint if the account lacks one of them. */
export function demandDatabases(/** @type {Deployment} */ { databases, config }) {
  const missing = config.d1_databases.length - databases.length
  if (missing === 0) return databases
  throw new Complaint(`The account lacks databases of ${config.name}. Run \`${commandOf('deploy')}\` first.`)
}

/** Throws a Complaint if a database that is in use is not among those bound. */
export const demandDeployable = (
  /** @type {import('./databases.mjs').InUse} */ inUse,
  /** @type {number} */ count,
) =>
  demandBound(inUse, count, ({ length }) => {
    const [it, block] = length === 1 ? ['it', 'its block'] : ['them', 'their blocks']
    return {
      fact: `wrangler.toml does not bind ${it}. Nothing was changed.`,
      again: `Put ${block} back in wrangler.toml, commit that, and deploy again.`,
      meanwhile: ' Nothing was changed.',
      afterwards: `Then delete ${block}, and deploy.`,
    }
  })
