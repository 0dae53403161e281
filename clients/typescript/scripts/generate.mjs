/**
 * Makes the types of the client from the two OpenAPI documents of the sources: `npm run generate`. They are
 * never committed, and never out of date: `npm run types` and the build of the client make them first. Only
 * the compiler reads them.
 *
 * `types.ts` has the types of all schemas and operations, made by @hey-api/openapi-ts. `operations.ts` maps
 * each method and path to these types.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inProject } from '../../../scripts/lib/project.mjs'
import { importSource } from '../../../scripts/lib/sources.mjs'
import { demandNewNode, fetchedTool } from '../../../scripts/lib/tools.mjs'

const client = join(import.meta.dirname, '..')
const root = join(client, '..', '..')
const target = join(client, 'src', 'generated')

/** The paths of a document below its base. */
const below = (base, document) =>
  Object.entries(document.paths).map(([path, operations]) => [
    base + path,
    Object.fromEntries(Object.entries(operations).map(([method, one]) => [method, lean(one)])),
  ])

/**
 * An operation without its errors, its headers and its examples. All errors have one shape, and the client
 * sends the headers itself.
 */
function lean({ operationId, summary, description, parameters, requestBody, responses }) {
  return {
    operationId,
    summary,
    description,
    parameters: parameters.filter((parameter) => parameter.in === 'path' || parameter.in === 'query'),
    requestBody,
    responses: Object.fromEntries(
      Object.entries(responses)
        .filter(([status]) => Number(status) < 400)
        .map(([status, { description, content }]) => [status, { description, content }]),
    ),
  }
}

/** The schemas of both documents. A schema that both have must be the same in both. */
function schemasOf(application, admin) {
  const schemas = { ...application.components.schemas }
  for (const [name, schema] of Object.entries(admin.components.schemas)) {
    const other = schemas[name]
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`The schema ${name} differs between the two documents. Give one of them another name.`)
    schemas[name] = schema
  }
  return schemas
}

/** A schema without the alternatives that only say which of its properties are needed. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const isNote = (key) => value.properties !== undefined && (key === 'anyOf' || key === 'oneOf')
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isNote(key) ? [] : [[key, plain(inner)]])),
  )
}

/** Both documents as one, with the base in each path, and without what types do not need. */
export async function wholeDocument() {
  const documents = await importSource(root, 'src/worker/openapi.ts')
  const [application, admin] = [documents.application.document, documents.admin.document]
  return plain({
    openapi: application.openapi,
    info: { title: 'Laurel', version: application.info.version },
    paths: Object.fromEntries([...below('/v1', application), ...below('/admin/v1', admin)]),
    webhooks: application.webhooks,
    components: { schemas: schemasOf(application, admin) },
  })
}

/** `admin_users_get` as the generator writes it in the names of types: `AdminUsersGet`. */
const typeName = (id) =>
  id
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** The module that maps each method and path to its types. */
function operationsModule({ paths }) {
  const names = new Set()
  const entries = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, summary }]) => {
      const name = typeName(operationId)
      names.add(`${name}Data`).add(`${name}Answer`)
      return [
        `  /** ${summary} */`,
        `  '${method.toUpperCase()} ${path}': Operation<${name}Data, ${name}Answer>`,
      ].join('\n')
    }),
  )
  return [
    'import type {',
    ...[...names].sort().map((name) => `  ${name},`),
    "} from './types.js'",
    '',
    '/** The parts of a request, and the body of its answer. */',
    'interface Operation<Data extends { path?: unknown; query?: unknown; body?: unknown }, Answer> {',
    "  path: Data['path']",
    "  query: Data['query']",
    "  body: Data['body']",
    '  answer: Answer',
    '}',
    '',
    '/** All operations of both interfaces, by method and path. */',
    'export interface Operations {',
    ...entries,
    '}',
    '',
  ].join('\n')
}

/** The names of the schemas in bodies of requests, with all that these refer to. */
function requestSchemas({ paths, components }) {
  const names = new Set()
  const add = (value) => {
    if (typeof value !== 'object' || value === null) return
    const name = value.$ref?.split('/').at(-1)
    if (name !== undefined && !names.has(name)) {
      names.add(name)
      add(components.schemas[name])
    }
    for (const inner of Object.values(value)) add(inner)
  }
  for (const operations of Object.values(paths))
    for (const { requestBody } of Object.values(operations)) add(requestBody)
  return names
}

/**
 * The types, in which a field that a request may leave out may also be `undefined`: JSON leaves it out. Without this,
 * apps with `exactOptionalPropertyTypes` could not pass what they may not have.
 */
function withUndefined(types, document) {
  const names = requestSchemas(document)
  let isRequest = false
  /** The indents of fields whose type goes on in later lines. */
  const open = []
  const lines = types.split('\n').map((line) => {
    const [, type] = /^export type (\w+) = /.exec(line) ?? []
    if (type !== undefined) isRequest = names.has(type)
    if (!isRequest) return line
    const [, indent] = /^( +)\S+\?: /.exec(line) ?? []
    if (indent !== undefined) open.push(indent)
    const isEnd = line.endsWith(';') && (indent !== undefined || line.startsWith(`${open.at(-1)}}`))
    if (!isEnd) return line
    open.pop()
    return `${line.slice(0, -1)} | undefined;`
  })
  return lines.join('\n')
}

/** A first line that changes with the document, with this script and with the versions of its packages. */
function stampOf(document) {
  const hash = createHash('sha256').update(JSON.stringify(document))
  const versions = inProject('scripts', 'tools', 'types', 'package-lock.json')
  for (const file of [import.meta.filename, versions]) hash.update(readFileSync(file))
  return `// Generated by scripts/generate.mjs from ${hash.digest('hex')}\n\n`
}

/** Makes the types, if they are not there yet. */
export async function makeTypes() {
  const document = await wholeDocument()
  const stamp = stampOf(document)
  const index = join(target, 'operations.ts')
  if (existsSync(index) && readFileSync(index, 'utf8').startsWith(stamp)) return
  process.stderr.write('Making the types of the client…\n')
  const modules = fetchedTool('types')
  const generator = join(modules, '@hey-api', 'openapi-ts', 'dist', 'index.mjs')
  const { createClient } = await import(pathToFileURL(generator).href)
  mkdirSync(target, { recursive: true })
  const draft = mkdtempSync(join(target, '.draft-'))
  try {
    await createClient({
      input: document,
      output: { path: draft, clean: false },
      plugins: [
        {
          name: '@hey-api/typescript',
          // Names that no schema has.
          responses: { name: '{{name}}Answers', response: '{{name}}Answer' },
        },
      ],
      logs: { level: 'silent' },
    })
    writeFileSync(join(draft, 'operations.ts'), stamp + operationsModule(document))
    const types = join(draft, 'types.gen.ts')
    writeFileSync(types, withUndefined(readFileSync(types, 'utf8'), document))
    // A rename is atomic, so another process never reads a part of a file. The stamp comes last.
    renameSync(types, join(target, 'types.ts'))
    renameSync(join(draft, 'operations.ts'), index)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  await demandNewNode()
  await makeTypes()
}
