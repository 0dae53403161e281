/**
 * The example of an operation as curl, TypeScript and Python. The three send the same request: a call of the
 * client library is found by calling its methods, and taken only if it sends this request.
 */

/**
 * @typedef {object} Request the example of an operation
 * @property {string} id such as `GET /v1/users/{id}`
 * @property {string} method
 * @property {string} path with its base, filled in
 * @property {string[]} inPath the values in the path, in order
 * @property {Record<string, unknown>} query
 * @property {Record<string, string>} headers
 * @property {unknown} body undefined if there is none
 * @property {boolean} isStream whether its answer is a stream of events
 */

/** Kinds of the demo's things that have a key, which is taken for their id. */
const KEYED = ['achievements', 'attributes', 'leaderboards', 'level', 'metrics', 'system']
const DAY = 86_400_000

/**
 * Fills in a value of an example. The documents name things of the demo by placeholders, such as
 * `demo:metrics:demo-lessons`: these become keys, dates, and for things without a key an id that stands for
 * one. `today` is a moment in milliseconds.
 *
 * @type {(value: unknown, today: number) => any}
 */
export function filledIn(value, today) {
  if (Array.isArray(value)) return value.map((one) => filledIn(one, today))
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, one]) => {
      const hasKey = KEYED.includes(/^demo:(\w+):/.exec([one].flat()[0])?.[1] ?? '')
      return [hasKey ? name.replace(/^id(?=s?$)/, 'key').replace(/Id$/, 'Key') : name, filledIn(one, today)]
    })
    return Object.fromEntries(fields)
  }
  const [, kind = '', name = ''] = (typeof value === 'string' && /^demo:(\w+):(.*)$/.exec(value)) || []
  if (kind === '') return value
  if (kind === 'day') return new Date(today + Number(name) * DAY).toISOString().slice(0, 10)
  return KEYED.includes(kind) ? name : '01900000-0000-7000-8000-000000000000'
}

/**
 * The example of an operation as a request.
 *
 * @type {(base: string, path: string, method: string, operation: any, today: number) => Request}
 */
export function requestOf(base, path, method, operation, today) {
  const given = (/** @type {string} */ place) =>
    operation.parameters.filter((/** @type {any} */ one) => one.in === place && one.example !== undefined)
  const valuesOf = (/** @type {string} */ place) =>
    filledIn(Object.fromEntries(given(place).map((/** @type {any} */ one) => [one.name, one.example])), today)
  const inPath = given('path').map(({ example }) => filledIn(example, today))
  let next = 0
  const whole = base + path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(inPath[next++]))
  return {
    id: `${method.toUpperCase()} ${base}${path}`,
    method: method.toUpperCase(),
    path: whole,
    inPath,
    query: Object.fromEntries(
      Object.entries(valuesOf('query')).map(([name, one]) => [name, one === 'true' || one]),
    ),
    headers: valuesOf('header'),
    body: filledIn(operation.requestBody?.content['application/json'].example, today),
    isStream: operation.operationId.endsWith('_live'),
  }
}

/** The query of a request as it is in its address, with `?`. Lists repeat their name. */
export const searchOf = (/** @type {Record<string, unknown>} */ query) => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, `${one}`]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`.replaceAll('%2C', ',')
}

/** The languages in which values are written: names of fields, and texts and constants. */
const JSON_FORM = { name: JSON.stringify, value: JSON.stringify, comma: '', indent: '  ' }
const TYPESCRIPT = {
  name: (/** @type {string} */ name) => (/^[a-z]\w*$/i.test(name) ? name : quoted(name)),
  value: (/** @type {unknown} */ value) => (typeof value === 'string' ? quoted(value) : String(value)),
  comma: ',',
  indent: '  ',
}
const PYTHON = {
  name: JSON.stringify,
  value: (/** @type {unknown} */ value) =>
    JSON.stringify(value).replace(/^(?:true|false|null)$/, (word) =>
      word === 'null' ? 'None' : word[0]?.toUpperCase() + word.slice(1),
    ),
  comma: ',',
  indent: '    ',
}
const quoted = (/** @type {string} */ text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const WIDTH = 76

/** A value in a language: on one line if it is short. @type {(value: any, form: any, indent?: string) => string} */
function written(value, form, indent = '') {
  if (typeof value !== 'object' || value === null) return form.value(value)
  const isList = Array.isArray(value)
  const deeper = indent + form.indent
  const parts = Object.entries(value).map(
    ([name, one]) => (isList ? '' : `${form.name(name)}: `) + written(one, form, deeper),
  )
  const [start, end, pad] = isList ? ['[', ']', ''] : ['{', '}', form === TYPESCRIPT ? ' ' : '']
  if (parts.length === 0) return start + end
  const line = `${start}${pad}${parts.join(', ')}${pad}${end}`
  if (indent.length + line.length <= WIDTH && !line.includes('\n')) return line
  return `${start}\n${parts.map((part) => deeper + part).join(',\n')}${form.comma}\n${indent}${end}`
}

const inShell = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`

/** @type {(request: Request) => string} */
export function curlOf({ method, path, query, headers, body, isStream }) {
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const named = Object.entries(headers).map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`)
  const json = body === undefined ? [] : ["-H 'Content-Type: application/json'"]
  const sent = ['-H "X-API-KEY: $KEY"', ...named, ...json]
  const line = sent.join(' ')
  const lines = [`curl ${isStream ? '-sSN' : '-sS'}${verb} "$URL${path}${searchOf(query)}"`]
  lines.push(...(line.length <= WIDTH ? [line] : sent))
  if (body !== undefined) lines.push(`-d ${inShell(written(body, JSON_FORM))}`)
  return lines.join(' \\\n  ')
}

/** Requests would send the booleans of Python by their names. */
const asTexts = (/** @type {Record<string, unknown>} */ query) =>
  Object.fromEntries(Object.entries(query).map(([name, one]) => [name, one === true ? 'true' : one]))

/** @type {(request: Request) => string} */
export function pythonOf({ method, path, query, headers, body, isStream }) {
  const named = Object.entries(headers).map(
    ([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  const lines = [
    `os.environ["URL"] + "${path}"`,
    `headers={"X-API-KEY": os.environ["KEY"]${named.join('')}}`,
    ...(Object.keys(query).length === 0 ? [] : [`params=${written(asTexts(query), PYTHON, '    ')}`]),
    ...(body === undefined ? [] : [`json=${written(body, PYTHON, '    ')}`]),
    ...(isStream ? ['stream=True'] : []),
  ]
  const print = isStream
    ? 'for line in answer.iter_lines(decode_unicode=True):\n    print(line)'
    : 'print(answer.json())'
  return `import os\nimport requests\n\nanswer = requests.${method.toLowerCase()}(\n${lines.map((line) => `    ${line},\n`).join('')})\nanswer.raise_for_status()\n${print}`
}

/**
 * The arguments of methods that need more than texts. All others get the texts a, b, c, and so on.
 *
 * @type {Readonly<Record<string, unknown[]>>}
 */
const ARGUMENTS = {
  event: ['a', { user: { id: 'a' } }],
  'leaderboards.live': ['a', { onRanking() {} }],
  'admin.eventBatches.create': [[]],
  'admin.points.adjustments.create': ['a', []],
  'users.achievements.list': ['a', {}],
}

/**
 * Finds the methods of the client library for operations.
 *
 * @param {any} Laurel the class of the client
 * @param {readonly string[]} ids of all operations
 */
export async function callsOf(Laurel, ids) {
  const methods = new Map()
  for (const name of methodsOf(new Laurel(recorder().options))) {
    const sent = await sentBy(Laurel, name, ARGUMENTS[name] ?? ['a', 'b', 'c', 'd'])
    const id = ids.find((one) => {
      let next = 'a'.charCodeAt(0)
      const [method, path = ''] = one.split(' ')
      return (
        `${method} ${path.replaceAll(/\{\w+\}/g, () => String.fromCharCode(next++))}` ===
        `${sent?.method} ${sent?.path}`
      )
    })
    if (id !== undefined && !methods.has(id)) methods.set(id, name)
  }
  /** The call of a request. @type {(request: Request) => Promise<string>} */
  return async (request) => {
    const { id, inPath, query, headers, body, isStream } = request
    const name = methods.get(id)
    if (name === undefined) throw new Error(`The client has no method for ${id}`)
    const { 'Idempotency-Key': idempotencyKey } = headers
    const extra = body ?? (Object.keys(query).length === 0 ? undefined : query)
    const fields = idempotencyKey === undefined ? extra : { .../** @type {object} */ (extra), idempotencyKey }
    if (isStream) {
      const options = Object.entries(query).map(([field, value]) => `  ${field}: ${value},\n`)
      return `laurel.${name}('${inPath[0]}', {\n${options.join('')}  onRanking: ({ rankings }) => console.log(rankings),\n})`
    }
    const wanted = {
      method: request.method,
      path: request.path,
      query: searchOf(query),
      body,
      key: idempotencyKey,
    }
    // Some methods add what never differs.
    for (const args of [inPath, [...inPath, fields]]) {
      const sent = await sentBy(Laurel, name, args)
      // A list asks for the largest pages.
      if (sent && query.limit === undefined)
        sent.query = sent.query.replace(/limit=100&?/, '').replace(/[?&]$/, '')
      if (JSON.stringify(sent) === JSON.stringify(wanted))
        return `const answer = await laurel.${name}(${args.map((one) => written(one, TYPESCRIPT)).join(', ')})\nconsole.log(answer)`
    }
    throw new Error(`laurel.${name} does not send ${JSON.stringify(wanted)}`)
  }
}

/** A call of the client as a whole program. */
export const typescriptOf = (/** @type {string} */ call) =>
  `import { Laurel } from '@laurel/client'\n\nconst laurel = new Laurel({ url: process.env.URL!, apiKey: process.env.KEY! })\n${call}`

/** The options of a client that only records what it sends. */
function recorder() {
  /** @type {any[]} */
  const sent = []
  const fetch = async (/** @type {string} */ url, /** @type {RequestInit} */ init) => {
    const { pathname, searchParams } = new URL(url)
    const query = searchOf(
      Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)])),
    )
    const key = new Headers(init.headers).get('idempotency-key') ?? undefined
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    sent.push({ method: init.method, path: pathname, query, body, key })
    return new Response('{"error":"It is only recorded."}', {
      status: 404,
      headers: { 'x-request-id': 'none' },
    })
  }
  return { sent, options: { url: 'http://localhost', apiKey: 'key', fetch } }
}

/** The request that a method of the client sends. @type {(Laurel: any, name: string, args: unknown[]) => Promise<any>} */
async function sentBy(Laurel, name, args) {
  const { sent, options } = recorder()
  const path = name.split('.')
  const last = path.pop() ?? ''
  const target = path.reduce((one, part) => one[part], new Laurel(options))
  try {
    await target[last](...args)
  } catch {
    // The recorder refuses every request, and some methods send none.
  }
  // The stream is asked for a moment later.
  await new Promise((resolve) => setImmediate(resolve))
  return sent[0]
}

/** The names of all methods of an object, and of the objects in it. @type {(target: any, prefix?: string) => string[]} */
function methodsOf(target, prefix = '') {
  const names = new Set(Object.keys(target))
  for (
    let type = Object.getPrototypeOf(target);
    type && type !== Object.prototype;
    type = Object.getPrototypeOf(type)
  )
    for (const name of Object.getOwnPropertyNames(type)) names.add(name)
  names.delete('constructor')
  return [...names].flatMap((name) => {
    if (typeof target[name] === 'function') return [prefix + name]
    return typeof target[name] === 'object' && target[name] !== null
      ? methodsOf(target[name], `${prefix}${name}.`)
      : []
  })
}
