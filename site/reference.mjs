/** The reference: pages of every operation, webhook and type, made from the two OpenAPI documents. */
import { join } from 'node:path'
import { importSource } from '../scripts/lib/sources.mjs'
import { grouped, project } from './pages.mjs'
import { callsOf, curlOf, pythonOf, requestOf, typescriptOf } from './samples.mjs'

/**
 * @typedef {object} Operation an operation with its example
 * @property {string} id such as `admin_metrics_list`
 * @property {'application' | 'admin'} side
 * @property {string} tag
 * @property {any} spec
 * @property {import('./samples.mjs').Request} request
 * @property {Record<'curl' | 'typescript' | 'python', string>} samples
 */

const BASES = { application: '/v1', admin: '/admin/v1' }
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Both documents, the samples of webhooks, and all operations. `today` is a moment in milliseconds. */
export async function readReference(today = Date.now()) {
  const documents = await importSource(project, join('src', 'worker', 'openapi.ts'))
  const { sampleOf } = await importSource(project, join('src', 'webhooks', 'events.ts'))
  const { Laurel } = await importSource(project, join('clients', 'typescript', 'src', 'index.ts'))
  /** @type {Operation[]} */
  const operations = []
  for (const side of /** @type {const} */ (['application', 'admin'])) {
    const { paths, components } = documents[side].document
    for (const [path, item] of Object.entries(paths))
      for (const method of METHODS.filter((one) => one in item)) {
        const found = item[method]
        const parameters = found.parameters.map((/** @type {any} */ one) =>
          one.$ref ? components.parameters[nameOf(one.$ref)] : one,
        )
        const spec = { ...found, parameters }
        const request = requestOf(BASES[side], path, method, spec, today)
        const samples = { curl: curlOf(request), typescript: '', python: pythonOf(request) }
        operations.push({ id: spec.operationId, side, tag: spec.tags[0], spec, request, samples })
      }
  }
  const callOf = await callsOf(
    Laurel,
    operations.map(({ request }) => request.id),
  )
  for (const one of operations) one.samples.typescript = typescriptOf(await callOf(one.request))
  return {
    application: documents.application.document,
    admin: documents.admin.document,
    operations,
    sampleOf,
    today,
  }
}

const nameOf = (/** @type {string} */ ref) => ref.slice(ref.lastIndexOf('/') + 1)
const titleOf = (/** @type {string} */ tag) =>
  (tag[0]?.toUpperCase() + tag.slice(1)).replaceAll('-', ' ').replace(/\bapi\b/, 'API')
const SIDES = { application: 'Application interface', admin: 'Admin interface' }
const pathOf = (/** @type {string} */ side, /** @type {string} */ name) =>
  `reference/${side === 'admin' ? `admin/${name}` : name}`

/** A text in which nothing is HTML. */
const prose = (/** @type {string} */ text = '') =>
  text.replace(/`[^`]*`|</g, (part) => (part === '<' ? '&lt;' : part))

/** The same in a cell of a table: on one line, without a border of the cell. */
const cell = (/** @type {string} */ text = '') => prose(text).replaceAll('\n', ' ').replaceAll('|', '\\|')

/** A table; nothing if it has no rows. */
const table = (/** @type {string[]} */ head, /** @type {string[][]} */ rows) => {
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`)
  return rows.length === 0 ? '' : lines.join('')
}

const fence = (/** @type {string} */ language, /** @type {string} */ code) =>
  `\`\`\`${language}\n${code}\n\`\`\``
const panel = (/** @type {string} */ title, /** @type {string} */ text) =>
  `::: details ${title}\n${text}\n:::\n`

/**
 * The pages, by their path on the site: `{ title, text, group }`. The group is the heading of a page in the
 * navigation.
 *
 * @type {(reference: Awaited<ReturnType<typeof readReference>>) => { path: string; title: string; group: string; text: string }[]}
 */
export function pagesOfReference({ application, admin, operations, sampleOf, today }) {
  const documents = { application, admin }
  /** @type {Record<'application' | 'admin', Set<string>>} */
  const named = { application: new Set(), admin: new Set() }

  /** Writes about the schemas of one document. */
  const writer = (/** @type {'application' | 'admin'} */ side) => {
    const { schemas } = documents[side].components
    const typeOf = (/** @type {any} */ schema) => {
      if (schema.$ref) {
        named[side].add(nameOf(schema.$ref))
        return `[${nameOf(schema.$ref)}](/${pathOf(side, 'types')}#${nameOf(schema.$ref).toLowerCase()})`
      }
      if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
      if (schema.enum)
        return schema.enum.map((/** @type {unknown} */ one) => `\`${JSON.stringify(one)}\``).join(' or ')
      const either = schema.anyOf ?? schema.oneOf
      if (
        either &&
        !schema.properties &&
        !schema.items &&
        either.some((/** @type {any} */ one) => one.type || one.$ref || one.const)
      )
        return [...new Set(either.map(typeOf))].join(' or ')
      if (schema.allOf?.length === 1) return typeOf(schema.allOf[0])
      /** @type {string[]} */
      const types = [schema.type ?? (schema.properties ? 'object' : 'any')].flat()
      return types
        .map((type) => {
          if (type === 'array') return schema.items ? `list of ${typeOf(schema.items)}` : 'list'
          const values = schema.additionalProperties
          if (
            type === 'object' &&
            values?.type + values?.$ref !== 'undefinedundefined' &&
            typeof values === 'object'
          )
            return `object of ${typeOf(values)}`
          return schema.format ? `${type} (${schema.format})` : type
        })
        .join(' or ')
    }
    const limitsOf = (/** @type {any} */ schema) => {
      const range = (
        /** @type {string} */ unit,
        /** @type {number?} */ least,
        /** @type {number?} */ most,
      ) => {
        const [from, to] = [least, most].map((one) => one?.toLocaleString('en'))
        if (from === undefined && to === undefined) return []
        return [
          (to === undefined
            ? `at least ${from}`
            : from === undefined
              ? `at most ${to}`
              : `${from} to ${to}`) + unit,
        ]
      }
      return [
        ...range('', schema.minimum, schema.maximum),
        ...range(' characters', schema.minLength, schema.maxLength),
        ...range(' items', schema.minItems, schema.maxItems),
        ...(schema.default === undefined ? [] : [`default \`${JSON.stringify(schema.default)}\``]),
      ].join(', ')
    }
    const described = (/** @type {any} */ schema) => {
      const limits = limitsOf(schema)
      return `${cell(schema.description)}${limits === '' ? '' : ` (${limits})`}`
    }
    /** The object in a schema, through references, lists and alternatives with null. @type {(schema: any) => any} */
    const objectIn = (schema) => {
      if (schema.$ref) return objectIn(schemas[nameOf(schema.$ref)])
      if (schema.properties) return schema
      if (schema.items) return objectIn(schema.items)
      const either = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []).filter(
        (/** @type {any} */ one) => one.type !== 'null',
      )
      return either.length === 1 ? objectIn(either[0]) : null
    }
    const isNamed = (/** @type {any} */ schema) =>
      /"\$ref"/.test(JSON.stringify({ ...schema, properties: undefined }))
    /** A row for each field of an object, and for those of objects in it that have no name. @type {(schema: any, prefix?: string) => string[][]} */
    const rowsOf = (schema, prefix = '') =>
      Object.entries(objectIn(schema)?.properties ?? {}).flatMap(([name, field]) => {
        const isNeeded = objectIn(schema).required?.includes(name)
        const row = [`\`${prefix}${name}\`${isNeeded ? ' *' : ''}`, cell(typeOf(field)), described(field)]
        return isNamed(field) ? [row] : [row, ...rowsOf(field, `${prefix}${name}${field.items ? '[]' : ''}.`)]
      })
    const fields = (/** @type {any} */ schema) => table(['Field', 'Type', 'Meaning'], rowsOf(schema))
    const bodyOf = (/** @type {any} */ schema) => {
      const shown = fields(schema)
      const isList = (schema.$ref ? schemas[nameOf(schema.$ref)] : schema).type === 'array'
      if (shown === '') return `${typeOf(schema)}\n`
      return isList ? `A list. Each item has:\n\n${shown}` : shown
    }
    return { typeOf, described, bodyOf, fields, schemas }
  }

  const sectionOf = (/** @type {Operation} */ { id, side, spec, request, samples }) => {
    const { typeOf, described, bodyOf } = writer(side)
    const rows = spec.parameters.map((/** @type {any} */ one) => [
      `\`${one.name}\`${one.required ? ' *' : ''}`,
      one.in,
      cell(typeOf(one.schema)),
      described({ ...one.schema, description: one.description }),
    ])
    const body = spec.requestBody?.content['application/json'].schema
    /** @type {unknown} */
    let before
    const answers = Object.entries(spec.responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, one]) => {
        /** @type {any[]} */
        const [content] = Object.values(one.content ?? {})
        const text = `\`${status}\`: ${cell(one.description)}`
        const known = JSON.stringify(content?.schema)
        if (content === undefined || known === before) return text
        before = known
        return `${text}\n\n${panel('The fields of the answer', bodyOf(content.schema))}`
      })
    const errors = Object.entries(spec.responses).filter(([status]) => !status.startsWith('2'))
    const errorRows = errors.map(([status, one]) => [`\`${status}\``, cell(one.description)])
    return `## ${spec.summary} {#${id}}

\`${request.id}\`

${prose(spec.description)}

::: code-group
${fence('bash [curl]', samples.curl)}
${fence('ts [TypeScript]', samples.typescript)}
${fence('python [Python]', samples.python)}
:::

${rows.length === 0 ? '' : `**Parameters**\n\n${table(['Name', 'In', 'Type', 'Meaning'], rows)}`}
${body === undefined ? '' : `**Body**\n\n${bodyOf(body)}`}
${answers.join('\n\n')}

${panel('Errors', `${table(['Status', 'When'], errorRows)}\nEvery error has the form \`{"error": "…"}\`. [Which one comes first](/api/requests#errors).`)}`
  }

  const NEEDED = 'Fields and parameters with `*` are needed.'
  const pages = grouped(operations, ({ side, tag }) => `${side} ${tag}`).map(([, list]) => {
    const [{ side, tag }] = /** @type {[Operation]} */ (list)
    const title = titleOf(tag)
    const index = list.map(({ id, spec, request }) => [`[${spec.summary}](#${id})`, `\`${request.id}\``])
    return {
      path: pathOf(side, tag),
      title,
      group: SIDES[side],
      text: `# ${title}: ${SIDES[side].toLowerCase()}\n\n${table(['Operation', 'Path'], index)}\n${NEEDED}\n\n${list.map(sectionOf).join('\n')}`,
    }
  })

  const { bodyOf: eventBody } = writer('application')
  const webhooks = Object.entries(application.webhooks).map(([type, { post }]) => {
    const { schema } = post.requestBody.content['application/json']
    const sample = JSON.stringify(sampleOf(type, today), null, 2)
    return `## ${type}\n\n${post.summary}. ${prose(post.description)}\n\n${fence('json', sample)}\n\n${panel('The fields of the body', eventBody(schema))}`
  })
  pages.push({
    path: 'reference/webhook-events',
    title: 'Webhook events',
    group: 'Webhooks',
    text: `# Webhook events\n\nLaurel sends each of these as a signed \`POST\` to your webhooks. [Receive webhooks](/guides/receive-webhooks) shows a receiver, and [webhooks](/webhooks) says how they are signed and sent again. [Send yourself a sample](/reference/admin/webhooks#admin_webhooks_test) of each type.\n\n${NEEDED}\n\n${webhooks.join('\n')}`,
  })

  for (const side of /** @type {const} */ (['application', 'admin'])) {
    const { bodyOf, schemas } = writer(side)
    /** @type {Map<string, string>} */
    const texts = new Map()
    // A type may name others, which get their place too.
    for (const name of named[side])
      texts.set(name, `## ${name}\n\n${prose(schemas[name].description)}\n\n${bodyOf(schemas[name])}`)
    const sorted = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
    pages.push({
      path: pathOf(side, 'types'),
      title: 'Types',
      group: SIDES[side],
      text: `# Types of the ${SIDES[side].toLowerCase()}\n\nThese are the named objects in requests and answers. The client library exports types of the same names.\n\n${NEEDED}\n\n${sorted.join('\n')}`,
    })
  }

  const lists = grouped(pages, ({ group }) => group).map(([group, list]) => {
    const links = list.map(({ path, title }) => {
      const own = operations.filter((one) => pathOf(one.side, one.tag) === path)
      return `- [${title}](/${path})${own.map(({ id, spec }) => `\n  - [${spec.summary}](/${path}#${id})`).join('')}`
    })
    return `## ${group}\n\n${links.join('\n')}`
  })
  const overview = `# Reference

Every operation and every webhook, with its parameters, answers and errors. The pages are made from the two
OpenAPI documents that a running Laurel serves at \`/v1/openapi.json\` and \`/admin/v1/openapi.json\`.

Each operation has the same request as curl, TypeScript and Python. They work on the demo that \`npm start\`
loads. \`URL\` is the address of your Laurel, such as \`http://localhost:8787\`, and \`KEY\` an admin key: set and
export both. TypeScript needs \`npm install @laurel/client\`, and Python \`pip install requests\`. The id
\`01900000-0000-7000-8000-000000000000\` stands for an id of yours. [Requests and answers](/api/requests) says what
all operations have in common.

${lists.join('\n\n')}
`
  return [{ path: 'reference/index', title: 'Overview', group: 'Reference', text: overview }, ...pages]
}
