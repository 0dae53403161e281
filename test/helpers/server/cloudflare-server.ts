/**
 * A stand-in for Cloudflare's REST API, for `CLOUDFLARE_API_BASE_URL`: keeps what is made, and refuses what the
 * real one refuses, with its status, codes and messages. It runs in a process of its own, with the Node of
 * wrangler, which has SQLite. `cloudflare.ts` starts it. By messages, a test changes its state and reads it.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'

type Json = Record<string, unknown>
type Binding = { type: string; name: string } & Json
type Queue = { queue_id: string; queue_name: string; consumers: Json[] }
type Database = { uuid: string; name: string; place: string; sql: DatabaseSync; uploads: Map<string, string> }
/** A Worker: what its last version has, and what is beside its versions. */
type Worker = {
  tag: string
  migration_tag: string | undefined
  classes: string[]
  bindings: Binding[]
  /** With their values, which the real one never tells. */
  secrets: Record<string, string>
  modules: string[]
  settings: Json
  versions: string[]
  subdomain: { enabled: boolean; previews_enabled: boolean }
  crons: string[]
  assets: string[]
}
/**
 * One question that fails, once: with a status, because its answer is lost after it was done, because nothing is
 * done and nothing is answered, or because D1 says of an import that has ended that nothing is imported. `call` is a
 * regular expression for its method and path. Before it is `wrangler ` if wrangler asks, and after it is the action of
 * an import.
 */
type Fault = { call: string; how: 500 | 403 | 'lost' | 'held' | 'idle' }

/** The settings of the stand-in. A test can change them while it runs. */
type Settings = {
  faults: Fault[]
  /** The rights that the token lacks, such as `D1`. */
  lacks: string[]
  /** The name at workers.dev. */
  subdomain: string
  /** By what the Worker was changed last. */
  changedBy: 'wrangler' | 'api'
  /** The status and the body of the answer of `/health`. */
  health: { status: number; body: Json }
}

/** A request of a test to the stand-in: it changes settings, or makes and deletes things. */
export type Control = Partial<Settings> & {
  /** Makes a Worker with objects of these classes. */
  worker?: { name: string; classes: string[] }
  /** Makes a database if there is none of the name, and runs SQL in it. */
  database?: { name: string; sql: string }
  /** Deletes a database. */
  lose?: string
  namespace?: string
  queues?: string[]
  /** Lets a Worker read a queue. */
  reader?: [queue: string, worker: string]
  zone?: string
}

export const ACCOUNT = '0123456789abcdef0123456789abcdef'
export const TOKEN = 'a-token-of-the-stand-in-for-cloudflare'
/** A token that belongs to the account, and not to a user. */
export const OWNED_TOKEN = 'a-token-that-the-account-owns'

class Refusal extends Error {
  readonly status: number
  readonly code: number
  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const databases: Database[] = []
const namespaces: { id: string; title: string }[] = []
const queues: Queue[] = []
const workers = new Map<string, Worker>()
let domains: { id: string; hostname: string; zone_name: string; service: string }[] = []
const zones: { id: string; name: string }[] = []
const adminKeys: Json[] = []
const set: Settings = {
  ...{ faults: [], lacks: [], subdomain: '', changedBy: 'wrangler' },
  health: { status: 200, body: { status: 'ok' } },
}
/** All questions, in their order. */
const calls: string[] = []
/** All SQL that databases were asked, with their names. */
const queries: string[] = []

function newDatabase(name: string, place: string): Database {
  const made = { uuid: randomUUID(), name, place, sql: new DatabaseSync(':memory:'), uploads: new Map() }
  databases.push(made)
  return made
}
const newId = () => randomUUID().replaceAll('-', '')
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null
const jsonOf = (body: Buffer): Json => {
  const value: unknown = JSON.parse(body.toString() || '{}')
  return isJson(value) ? value : {}
}
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
const refuse = (status: number, code: number, message: string): never => {
  throw new Refusal(status, code, message)
}
const text = (value: unknown, name: string): string =>
  typeof value === 'string' && value !== '' ? value : refuse(400, 10_001, `${name} must be a string`)
const workerOf = (name: string) =>
  workers.get(name) ?? refuse(404, 10_007, 'This Worker does not exist on your account.')
const databaseOf = (name: string) =>
  databases.find((one) => one.uuid === name || one.name === name) ??
  refuse(404, 7404, `The database ${name} could not be found`)
/** Takes an item out of a list. */
function take<T>(list: T[], isIt: (one: T) => boolean) {
  const index = list.findIndex(isIt)
  if (index === -1) refuse(404, 10_013, 'not found')
  list.splice(index, 1)
}
const queueOf = (id: string) =>
  queues.find(({ queue_id }) => queue_id === id) ?? refuse(404, 11_000, 'Queue not found.')

/** The right that a path needs, as the dashboard names it. */
function rightOf(path: string): string {
  if (path.includes('/d1/')) return 'D1'
  if (path.includes('/storage/kv/')) return 'Workers KV Storage'
  if (path.includes('/queues')) return 'Queues'
  if (/\/routes$|\/domains\/records$/.test(path)) return 'Workers Routes'
  if (path.startsWith('/zones')) return 'Zone'
  return path.includes('/workers/') ? 'Workers Scripts' : 'Account Settings'
}

/** The lists that are empty, and not refused, if the token may see nothing of them. */
const LISTS = /^\/(accounts|zones)$/

/** Throws if a version is bound to something that does not exist. */
function checkBindings(bindings: Binding[], classes: string[], before: Worker | undefined) {
  for (const { type, name, ...rest } of bindings) {
    const { id, namespace_id, queue_name, class_name, simple } = rest
    const fault = (what: string) => new Refusal(400, 10_021, `binding ${name} of type ${type} ${what}`)
    if (type === 'd1' && !databases.some(({ uuid }) => uuid === id))
      throw fault('must have a valid `id` specified')
    if (type === 'kv_namespace' && !namespaces.some((one) => one.id === namespace_id))
      throw new Refusal(400, 10_041, `KV namespace '${String(namespace_id)}' not found.`)
    if (type === 'queue' && !queues.some((one) => one.queue_name === queue_name))
      throw new Refusal(400, 100_100, `Queue '${String(queue_name)}' does not exist.`)
    if (type === 'durable_object_namespace' && !classes.includes(String(class_name)))
      throw new Refusal(400, 10_061, `Cannot create binding for class '${String(class_name)}'`)
    if (type === 'ratelimit' && !(isJson(simple) && /^[1-9]\d*$/.test(String(namespace_id))))
      throw fault('must have a positive integer as its namespace_id')
    if (type === 'inherit' && !before?.bindings.some((one) => one.name === name))
      throw fault('cannot be inherited')
  }
}

const IDLE = { success: false, error: 'Not currently importing anything.' }
/** An answer without a body. */
const EMPTY = Symbol('empty')

const MODULE = 'application/javascript+module'

/** A new version of a Worker, from the form that wrangler sends. */
async function upload(name: string, { contentType, body }: Question) {
  const headers = { 'content-type': contentType }
  const form = await new Response(new Uint8Array(body), { headers }).formData()
  const given = form.get('metadata')
  const metadata = jsonOf(Buffer.from(typeof given === 'string' ? given : ((await given?.text()) ?? '')))
  const main = form.get(text(metadata.main_module, 'main_module'))
  if (main === null || typeof main === 'string' || main.type !== MODULE)
    throw new Refusal(400, 10_021, 'No such module: the main module is missing')
  text(metadata.compatibility_date, 'compatibility_date')
  const before = workers.get(name)
  const { migrations } = metadata
  const classes = [...(before?.classes ?? [])]
  if (isJson(migrations)) {
    if (migrations.old_tag !== before?.migration_tag)
      throw new Refusal(412, 10_079, 'Actor migration tag precondition failed')
    for (const step of listOf(migrations.steps))
      if (Array.isArray(step.new_sqlite_classes)) classes.push(...step.new_sqlite_classes.map(String))
  }
  const all = listOf(metadata.bindings).map((one) => {
    return { ...one, type: text(one.type, 'type'), name: text(one.name, 'name') }
  })
  checkBindings(all, classes, before)
  const kept = Array.isArray(metadata.keep_bindings) && metadata.keep_bindings.includes('secret_text')
  const secrets: Record<string, string> = kept ? { ...before?.secrets } : {}
  const bindings: Binding[] = []
  for (const binding of all) {
    const inherited = binding.type === 'inherit' && before?.bindings.find((one) => one.name === binding.name)
    if (binding.type === 'secret_text') secrets[binding.name] = text(Object(binding).text, binding.name)
    else bindings.push(inherited || binding)
  }
  const version = randomUUID()
  const after: Worker = {
    tag: before?.tag ?? newId(),
    migration_tag: isJson(migrations) ? text(migrations.new_tag, 'new_tag') : before?.migration_tag,
    classes,
    bindings,
    secrets,
    modules: [...form.keys()].filter((key) => key !== 'metadata'),
    settings: {
      ...{ limits: metadata.limits, observability: metadata.observability },
      compatibility_flags: metadata.compatibility_flags,
    },
    versions: [...(before?.versions ?? []), version],
    subdomain: before?.subdomain ?? { enabled: false, previews_enabled: false },
    crons: before?.crons ?? [],
    assets,
  }
  workers.set(name, after)
  return version
}

const secretList = (secrets: Record<string, string>) =>
  Object.keys(secrets).map((name) => ({ name, type: 'secret_text' }))

/** Runs SQL as D1's `query` does: one answer for each statement, all in one transaction. */
function query({ sql, name }: Database, statements: string) {
  try {
    queries.push(`${name}: ${statements}`)
    sql.exec('BEGIN')
    // Each semicolon ends a statement here. Triggers have more of them, but the scripts import triggers as files.
    const parts = statements.split(';').filter((one) => one.trim() !== '')
    const answers = parts.map((one) => {
      return { results: sql.prepare(one).all(), success: true, meta: { duration: 0 } }
    })
    sql.exec('COMMIT')
    return answers
  } catch (error) {
    if (sql.isTransaction) sql.exec('ROLLBACK')
    throw new Refusal(400, 7500, `${Object(error).message}: SQLITE_ERROR`)
  }
}

/** The present moment of a database, which its tables tell. */
function bookmarkOf({ uuid, sql }: Database) {
  const [row] = sql.prepare('SELECT count(*) AS tables FROM sqlite_schema').all()
  const tables = Number(Object(row).tables).toString(16).padStart(8, '0')
  return `${tables}-0000024c-00004c6d-${uuid.replaceAll('-', '')}`
}

/** The three steps of D1's import. The file is run whole or not at all. */
function importInto(database: Database, { action, etag, filename, current_bookmark: given }: Json) {
  const name = `${database.uuid}/${String(etag)}.sql`
  const step = { success: true, type: 'import', messages: [] }
  if (action === 'init') {
    if (!/^[\da-f]{32}$/.test(String(etag))) throw new Refusal(400, 7400, 'etag must be an MD5')
    return { success: true, filename: name, upload_url: `${origin}/upload/${name}` }
  }
  if (action === 'ingest') {
    const sql = filename === name ? database.uploads.get(name) : undefined
    if (sql === undefined) throw new Refusal(400, 7400, `File ${String(filename)} was not uploaded`)
    try {
      database.sql.exec(`BEGIN; ${sql}; COMMIT`)
    } catch (error) {
      if (database.sql.isTransaction) database.sql.exec('ROLLBACK')
      return { ...step, status: 'error', errors: [`${Object(error).message}`] }
    }
    return { ...step, status: 'active', at_bookmark: name }
  }
  if (action !== 'poll' || given === undefined) throw new Refusal(400, 7400, 'unknown action')
  const result = { num_queries: 1, final_bookmark: bookmarkOf(database), meta: { duration: 1 } }
  return { ...step, status: 'complete', result }
}

/** The form of a JWT, which wrangler reads. */
const tokenOf = (claims: Json) =>
  `e30.${Buffer.from(JSON.stringify({ exp: 4_000_000_000, ...claims })).toString('base64url')}.x`

const consumerOf = (given: Json, id = newId()): Json => {
  const dead = given.dead_letter_queue
  if (dead !== undefined && !queues.some(({ queue_name }) => queue_name === dead))
    throw new Refusal(400, 11_003, `Dead letter queue '${String(dead)}' does not exist.`)
  const script = text(given.script_name, 'script_name')
  workerOf(script)
  return { ...given, consumer_id: id, script, service: script, environment: 'production' }
}

function bindDomain(service: string, hostname: string) {
  const zone = zones.find(({ name }) => hostname === name || hostname.endsWith(`.${name}`))
  if (zone === undefined) throw new Refusal(400, 100_117, `No zone found for ${hostname}`)
  const others = domains.filter((one) => one.hostname !== hostname)
  domains = [...others, { id: newId(), hostname, zone_name: zone.name, service }]
}

const toInfo = ({ uuid, name, place }: Database) => {
  return { uuid, name, running_in_region: place, version: 'production' }
}

/** The files of the last session of uploads. */
let assets: string[] = []

/** `given` is the body as JSON, or empty if it is a form. */
type Question = Record<'path' | 'contentType', string> & {
  search: URLSearchParams
  body: Buffer
  given: Json
}
type Answerer = (question: Question, ...ids: string[]) => unknown

/** The questions about an account: the method and the path, in which each `*` is a name or an id. */
const OF_ACCOUNT: Record<string, Answerer> = {
  'GET /d1/database': ({ search }) =>
    databases.filter(({ name }) => name.includes(search.get('name') ?? '')).map(toInfo),
  'POST /d1/database': ({ given }) => {
    const name = text(given.name, 'name')
    if (databases.some((one) => one.name === name))
      throw new Refusal(400, 7502, `Database with name '${name}' already exists`)
    const place = String(given.primary_location_hint ?? given.jurisdiction ?? '')
    if (!/^(|weur|eeur|wnam|enam|apac|oc|eu|fedramp)$/.test(place))
      throw new Refusal(400, 7400, `Invalid location hint: ${place}`)
    return toInfo(newDatabase(name, place))
  },
  'DELETE /d1/database/*': (_, id) => take(databases, (one) => one === databaseOf(id)),
  'POST /d1/database/*/query': ({ given }, id) => query(databaseOf(id), text(given.sql, 'sql')),
  'POST /d1/database/*/import': ({ given }, id) => importInto(databaseOf(id), given),
  'GET /d1/database/*/time_travel/bookmark': (_, id) => ({ bookmark: bookmarkOf(databaseOf(id)) }),

  'GET /storage/kv/namespaces': () => namespaces,
  'POST /storage/kv/namespaces': ({ given }) => {
    const title = text(given.title, 'title')
    if (namespaces.some((one) => one.title === title))
      throw new Refusal(400, 10_014, 'a namespace with this account ID and title already exists')
    const made = { id: newId(), title, supports_url_encoding: true }
    namespaces.push(made)
    return made
  },
  'DELETE /storage/kv/namespaces/*': (_, id) => take(namespaces, (one) => one.id === id),

  'GET /queues': ({ search }) => {
    const names = search.getAll('name')
    return queues.filter(({ queue_name: name }) => names.length === 0 || names.includes(name))
  },
  'POST /queues': ({ given }) => {
    const name = text(given.queue_name, 'queue_name')
    const taken = `Queue name '${name}' is already taken. Please use a different name and try again.`
    if (queues.some(({ queue_name }) => queue_name === name)) throw new Refusal(409, 11_009, taken)
    const made = { queue_id: newId(), queue_name: name, consumers: [] }
    queues.push(made)
    return made
  },
  'DELETE /queues/*': (_, id) => take(queues, (one) => one === queueOf(id)),
  'GET /queues/*/consumers': (_, id) => queueOf(id).consumers,
  'POST /queues/*/consumers': ({ given }, id) => {
    const queue = queueOf(id)
    if (queue.consumers.length > 0)
      throw new Refusal(400, 11_004, `Queue ${queue.queue_name} already has a consumer`)
    queue.consumers.push(consumerOf(given))
    return queue.consumers[0]
  },
  'PUT /queues/*/consumers/*': ({ given }, id, consumer) => {
    const queue = queueOf(id)
    if (queue.consumers[0]?.consumer_id !== consumer) throw new Refusal(404, 11_001, 'Consumer not found.')
    queue.consumers = [consumerOf(given, consumer)]
    return queue.consumers[0]
  },
  'DELETE /queues/*/consumers/*': (_, id) => {
    queueOf(id).consumers = []
  },

  'GET /workers/subdomain': () => {
    if (set.subdomain === '') refuse(404, 10_007, 'This account does not have a workers.dev subdomain.')
    return { subdomain: set.subdomain }
  },
  'PUT /workers/subdomain': ({ given }) => {
    if (set.subdomain !== '') refuse(409, 10_036, 'This account already has a subdomain.')
    if (given.subdomain === 'taken') refuse(409, 10_031, 'Subdomain is unavailable.')
    set.subdomain = text(given.subdomain, 'subdomain')
    return { subdomain: set.subdomain }
  },
  'GET /workers/domains': ({ search }) => {
    const isAsked = (field: string, value: string) => value === (search.get(field) ?? value)
    return domains.filter((one) => isAsked('service', one.service) && isAsked('hostname', one.hostname))
  },
  'DELETE /workers/domains/*': (_, id) => take(domains, (one) => one.id === id),
  'GET /workers/services/*': (_, name) => {
    const { tag, migration_tag } = workerOf(name)
    const script = { id: name, tag, migration_tag, last_deployed_from: set.changedBy }
    return { id: name, default_environment: { environment: 'production', script } }
  },
  'GET /workers/workers/*': (_, name) => ({ name, subdomain: workerOf(name).subdomain }),
  'POST /workers/assets/upload': () => ({ jwt: tokenOf({}) }),

  'GET /workers/scripts/*/settings': (_, name) => {
    const { bindings, secrets, migration_tag } = workerOf(name)
    return { bindings: [...bindings, ...secretList(secrets)], migration_tag }
  },
  'GET /workers/scripts/*/secrets': (_, name) => secretList(workerOf(name).secrets),
  'POST /workers/scripts/*/assets-upload-session': ({ given }) => {
    const manifest = isJson(given.manifest) ? given.manifest : {}
    const hashes = Object.values(manifest).map((file) => String(Object(file).hash))
    assets = Object.keys(manifest).sort()
    return { jwt: tokenOf({ session: true }), buckets: [[...new Set(hashes)]] }
  },
  'PUT /workers/scripts/*': async (question, name) => {
    const version = (await upload(name, question)).replaceAll('-', '')
    return { id: name, tag: workerOf(name).tag, deployment_id: version, startup_time_ms: 9 }
  },
  'POST /workers/scripts/*/versions': async (question, name) => {
    workerOf(name)
    const id = await upload(name, question)
    const resources = { script: { etag: newId() } }
    return { id, resources, metadata: { has_preview: false }, startup_time_ms: 9 }
  },
  'GET /workers/scripts/*/deployments': (_, name) => {
    const [version_id] = workerOf(name).versions.slice(-1)
    return { deployments: [{ id: randomUUID(), versions: [{ version_id, percentage: 100 }] }] }
  },
  'POST /workers/scripts/*/deployments': ({ given }, name) => {
    for (const { version_id } of listOf(given.versions))
      if (!workerOf(name).versions.includes(String(version_id)))
        throw new Refusal(404, 10_092, 'Version not found.')
    return { id: randomUUID() }
  },
  'PATCH /workers/scripts/*/script-settings': ({ given }, name) => {
    Object.assign(workerOf(name).settings, given)
    return given
  },
  'PUT /workers/scripts/*/schedules': ({ body }, name) => {
    workerOf(name).crons = listOf(JSON.parse(body.toString())).map(({ cron }) => text(cron, 'cron'))
    return { schedules: [] }
  },
  'POST /workers/scripts/*/subdomain': ({ given }, name) => {
    const [enabled, previews_enabled] = [given.enabled === true, given.previews_enabled === true]
    workerOf(name).subdomain = { enabled, previews_enabled }
    return workerOf(name).subdomain
  },
  'POST /workers/scripts/*/domains/changeset': () => {
    return { added: [], removed: [], updated: [], conflicting: [] }
  },
  'PUT /workers/scripts/*/routes': ({ body }) =>
    listOf(JSON.parse(body.toString())).map(({ pattern }) => text(pattern, 'pattern')),
  'PUT /workers/scripts/*/domains/records': ({ given }, name) => {
    for (const { hostname } of listOf(given.origins)) bindDomain(name, text(hostname, 'hostname'))
  },
  'DELETE /workers/scripts/*': ({ search }, name) => {
    if (workerOf(name).classes.length > 0 && search.get('force') !== 'true')
      throw new Refusal(400, 10_064, 'The Worker has Durable Objects, or reads queues. Add force=true.')
    workers.delete(name)
    return EMPTY
  },
}

/** The other questions. */
const OTHERS: Record<string, Answerer> = {
  'GET /accounts': () => [{ id: ACCOUNT, name: 'The account of the test' }],
  'GET /zones': ({ search }) =>
    zones.filter(({ name }) => name === search.get('name')).map((one) => ({ ...one, status: 'active' })),
  'GET /zones/*/workers/routes': () => [],
}

const toRoute = ([pattern, answerer]: [string, Answerer]) =>
  [new RegExp(`^${pattern.replaceAll('*', '([^/]+)')}$`), answerer] as const
const ROUTES = [
  ...Object.entries(OTHERS),
  ...Object.entries(OF_ACCOUNT).map(([pattern, answerer]): [string, Answerer] => [
    pattern.replace('/', `/accounts/${ACCOUNT}/`),
    answerer,
  ]),
].map(toRoute)

async function answer(method: string, question: Question): Promise<unknown> {
  const { path, search } = question
  if (LISTS.test(path) && Number(search.get('per_page')) > 50)
    throw new Refusal(400, 6008, 'Invalid request parameters')
  if (set.lacks.includes(rightOf(path)) && LISTS.test(path)) return []
  for (const [pattern, answerer] of ROUTES) {
    const [whole, ...ids] = pattern.exec(`${method} ${path}`) ?? []
    if (whole !== undefined) return (await answerer(question, ...ids)) ?? null
  }
  throw new Refusal(404, 7003, `Could not route to ${path}, perhaps your object identifier is invalid?`)
}

const send = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Sets what a test wants, and answers the state. */
function control(given: Control) {
  const { worker, database, lose, namespace, queues: names = [], reader = [], zone, ...settings } = given
  Object.assign(set, settings)
  if (zone !== undefined) zones.push({ id: newId(), name: zone })
  if (namespace !== undefined) namespaces.push({ id: newId(), title: namespace })
  for (const name of names) queues.push({ queue_id: newId(), queue_name: name, consumers: [] })
  if (lose !== undefined) take(databases, (one) => one.name === lose)
  const [read, script] = reader
  for (const queue of queues.filter(({ queue_name: name }) => name === read))
    queue.consumers = [{ consumer_id: newId(), type: 'worker', script }]
  if (database !== undefined) {
    const { name, sql } = database
    const found = databases.find((one) => one.name === name) ?? newDatabase(name, '')
    found.sql.exec(sql)
  }
  if (worker !== undefined) {
    const { name, classes } = worker
    const type = 'durable_object_namespace'
    workers.set(name, {
      ...{ tag: newId(), migration_tag: classes.length > 0 ? 'v4' : undefined, classes, secrets: {} },
      ...{ modules: [], settings: {}, versions: [randomUUID()], crons: [], assets: [] },
      bindings: classes.map((class_name) => ({ type, name: class_name, class_name })),
      subdomain: { enabled: true, previews_enabled: false },
    })
  }
  const told = databases.map(({ uuid, name, place, sql }) => {
    const [row] = sql.prepare("SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table'").all()
    const tables = Number(Object(row).tables)
    const [restores] = tables > 9 ? sql.prepare('SELECT epoch FROM restores').all() : []
    return { uuid, name, place, tables, epoch: Number(Object(restores).epoch ?? 0) }
  })
  const left = set.faults.map(({ call }) => call)
  const lists = { databases: told, namespaces, queues, domains, calls, queries, left, adminKeys }
  return { ...lists, workers: Object.fromEntries(workers) }
}
export type State = Pick<ReturnType<typeof control>, keyof ReturnType<typeof control>>

/** What the deployed Worker answers: `/health`, and a new admin key. */
function service(path: string, request: IncomingMessage, body: Buffer): [status: number, body: unknown] {
  if (path === '/health') return [set.health.status, set.health.body]
  const keys = [...workers.values()].map(({ secrets }) => secrets.ADMIN_API_KEY)
  if (path !== '/admin/v1/admin-api-keys') return [404, { error: 'not found' }]
  if (!keys.includes(String(request.headers['x-api-key']))) return [401, { error: 'no key' }]
  const [given] = listOf(JSON.parse(body.toString()))
  const made = { id: newId(), name: text(given?.name, 'name'), key: `adm_link.${newId()}` }
  adminKeys.push(made)
  return [201, { created: [made], issues: [] }]
}

async function handle(request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams: search } = new URL(request.url ?? '/', 'http://localhost')
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const body = Buffer.concat(parts)
  const method = request.method ?? ''
  const [, upload] = /^\/upload\/(.+)$/.exec(pathname) ?? []
  const isApi = pathname.startsWith('/client/v4/')
  const path = isApi ? pathname.slice('/client/v4'.length) : pathname
  const call = `${method} ${path.replace(`/accounts/${ACCOUNT}`, '')}`
  const asker = request.headers['user-agent']?.startsWith('wrangler/') ? 'wrangler ' : ''
  const action = path.endsWith('/import') ? ` ${jsonOf(body).action}` : ''
  const fault = set.faults.find((one) => new RegExp(`^${one.call}$`).test(asker + call + action))
  set.faults = set.faults.filter((one) => one !== fault)
  if (fault?.how === 'held') return
  if (!isApi && typeof fault?.how === 'number') return send(response, fault.how, {})
  if (upload !== undefined) {
    databaseOf(upload.slice(0, 36)).uploads.set(upload, body.toString())
    const etag = createHash('md5').update(body).digest('hex')
    if (fault?.how === 'lost') return response.destroy()
    return response.writeHead(200, { etag: `"${etag}"` }).end()
  }
  if (!isApi) {
    const [status, said] = service(path, request, body)
    return fault?.how === 'lost' ? response.destroy() : send(response, status, said)
  }
  calls.push(call)
  const deny = (status: number, code: number, message: string) =>
    send(response, status, { success: false, errors: [{ code, message }], messages: [], result: null })
  try {
    const isAssets = path.endsWith('/workers/assets/upload')
    const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
    if (!isAssets && ![TOKEN, OWNED_TOKEN].includes(token)) return deny(400, 9109, 'Invalid access token')
    if (path === '/accounts' && token === OWNED_TOKEN)
      return deny(400, 1001, 'List accounts endpoint does not support account owned tokens.')
    if ((set.lacks.includes(rightOf(path)) && !LISTS.test(path)) || fault?.how === 403)
      return deny(403, rightOf(path) === 'D1' ? 7403 : 10_000, 'Authentication error')
    if (fault?.how === 500) return deny(500, 10_013, 'An unknown error has occurred.')
    const contentType = request.headers['content-type'] ?? ''
    const given = contentType.startsWith('multipart/') ? {} : jsonOf(body)
    const question = { path, search, body, contentType, given }
    const result = fault?.how === 'idle' ? IDLE : await answer(method, question)
    if (fault?.how === 'lost') return response.destroy()
    if (result === EMPTY) return response.writeHead(200).end()
    const count = Array.isArray(result) ? result.length : null
    const page = { page: 1, per_page: 100, total_pages: 1, count, total_count: count }
    const info = count === null ? {} : { result_info: page }
    return send(response, 200, { success: true, errors: [], messages: [], result, ...info })
  } catch (error) {
    if (!(error instanceof Refusal)) return deny(500, 10_013, String(Object(error).stack))
    return deny(error.status, error.code, error.message)
  }
}

let origin = ''
const server = createServer((request, response) => {
  handle(request, response).catch((error) => send(response, 500, { error: String(error) }))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  process.send?.(origin)
})
process.on('message', (given: Control) => process.send?.(control(given)))
// The test has gone.
process.on('disconnect', () => process.exit(0))
