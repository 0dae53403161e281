/**
 * Writes the types of the client from the two OpenAPI documents of the sources: `npm run generate`.
 *
 * `types.ts` has the types of all schemas and operations, made by @hey-api/openapi-ts. `operations.ts` maps
 * each method and path to these types.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import { importSource } from '../../../scripts/lib/sources.mjs'

const root = join(import.meta.dirname, '..', '..', '..')
const target = join(import.meta.dirname, '..', 'src', 'generated')

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
    responses: Object.fromEntries(Object.entries(responses).filter(([status]) => Number(status) < 400)),
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

/** Both documents as one, with the base in each path, and without what types do not need. */
export async function wholeDocument() {
  const documents = await importSource(root, 'src/worker/openapi-documents.ts')
  const [application, admin] = [documents.application.document, documents.admin.document]
  return {
    openapi: application.openapi,
    info: { title: 'Laurel', version: application.info.version },
    paths: Object.fromEntries([...below('/v1', application), ...below('/admin/v1', admin)]),
    webhooks: application.webhooks,
    components: { schemas: schemasOf(application, admin) },
  }
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
    '// This file is generated. To write it again: npm run generate -w @laurel/client',
    '',
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

/**
 * The generated modules of the document that `wholeDocument` makes.
 *
 * @returns {Promise<Map<string, string>>} text by file name
 */
export async function generatedModules(document) {
  const workshop = mkdtempSync(join(tmpdir(), 'laurel-types-'))
  try {
    await createClient({
      input: document,
      output: { path: workshop, clean: false },
      plugins: [
        {
          name: '@hey-api/typescript',
          // Names that no schema has.
          responses: { name: '{{name}}Answers', response: '{{name}}Answer' },
        },
      ],
      logs: { level: 'silent' },
    })
    const types = readFileSync(join(workshop, 'types.gen.ts'), 'utf8')
    return new Map([
      ['types.ts', types],
      ['operations.ts', operationsModule(document)],
    ])
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, text] of await generatedModules(await wholeDocument()))
    writeFileSync(join(target, name), text)
}
