/**
 * schemathesis makes requests from both OpenAPI documents: valid ones and invalid ones. It must find no 5xx, no
 * answer that is not documented, no invalid request that is accepted and no way past the key. Needs PyPI.
 */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { newFolder, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

const VERSION = '4.32.5'
const { SCHEMATHESIS_EXAMPLES: EXAMPLES = '5', SCHEMATHESIS_SEED: SEED = '1' } = process.env

/** Time moves for all of them, a stream has no end, and moves of all users take long. */
const LEFT_OUT = [
  'admin_test_clock_set',
  'admin_test_clock_reset',
  'leaderboards_live',
  'admin_databases_rebalance',
]

/** Valid requests that are refused: what their errors say, and why no schema can say it. */
const REFUSED: readonly (readonly [reason: string, errors: RegExp])[] = [
  ['attributes, metrics, users and others are named that the tenant has not', /must match those configured/],
  ['the same', /existing user|there is no |does not exist|is not a metric that streaks count/],
  [
    'it depends on the state of the thing',
    /must be a user |webhook is inactive|completes by itself|being sent again/,
  ],
  ['the same', /has no breakdown|has no email address|only daily streaks have days off|is final|has ended/],
  ['the server has one tenant', /Multi-tenancy is off/],
  ['a cursor comes from the page before', /must be the cursor/],
  ['`If-Match` comes from what was read before', /since you read it/],
  [
    'two fields go together, or only one of them is allowed',
    /Pass only one|must be left out if|together with/,
  ],
  ['the same, in a query', /is missing\. Pass it, or keys/],
  ['one field limits another', /must not be (before|after|above)|must not be passed/],
  ['it depends on the date', /days (before|after)|current year|must not be in the|days from today/],
  ['the pattern of addresses in the document is looser', /must be an email address/],
  ['only the parser of addresses knows', /percent-encoded|public|must be an https/],
  ['only a parser knows', /is not Liquid|must be an IANA time zone|ISO 8601|timestamp with its offset/],
  ['fields that Laurel does not know are taken only beside known ones (O4)', /has only unknown fields/],
  ['a list must not contradict itself', /one value|must name each|twice|different/],
]
/** The path of a GET, such as `/metrics/{id}`, has the path of a POST in it. */
const ALLOW = /It has GET, HEAD, POST/

let server: Server
const folder = newFolder('laurel-schemathesis')
beforeAll(async () => {
  server = await startServer({ env: { RATE_LIMITS: 'off' }, clock: SERVER_START })
})

const run = promisify(execFile)

/** Why schemathesis can't be installed; null if it is there. */
async function install(): Promise<string | null> {
  try {
    await run('python3', ['-m', 'venv', join(folder, 'python')])
    await run(join(folder, 'python', 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`])
    return null
  } catch (error) {
    return String(error).split('\n', 2).join(' ')
  }
}

const Base64 = z
  .object({ $base64: z.string() })
  .transform(({ $base64 }) => Buffer.from($base64, 'base64').toString())
const Check = z.object({
  name: z.string(),
  status: z.string(),
  failure_info: z.object({ failure: z.object({ message: z.string() }) }).nullish(),
})
const Response = z.object({ status_code: z.number(), content: Base64.nullish() })
/** A line of the report. Without requests, it has neither checks nor answers. */
const Scenario = z.object({
  ScenarioFinished: z.object({
    recorder: z.object({
      label: z.string(),
      checks: z.record(z.string(), z.array(Check)).default({}),
      interactions: z.record(z.string(), z.object({ response: Response.nullish() })).default({}),
    }),
  }),
})

/** The failed checks of a report: the check, the operation, and what the answer said. */
function failuresIn(report: string) {
  return report.split('\n').flatMap((line) => {
    if (!line.startsWith('{"ScenarioFinished"')) return []
    const { label, checks, interactions } = Scenario.parse(JSON.parse(line)).ScenarioFinished.recorder
    return Object.entries(checks).flatMap(([id, all]) =>
      all
        .filter(({ status }) => status === 'failure')
        .map(({ name, failure_info: info }) => {
          const { status_code: status, content } = interactions[id]?.response ?? {}
          return { name, label, status, said: content ?? '', message: info?.failure.message ?? '' }
        }),
    )
  })
}

it('[G1, G2, G3] the service does what its OpenAPI documents say, for requests that schemathesis makes', async ({
  skip,
}) => {
  const missing = await install()
  if (missing !== null) skip(`no PyPI, or no Python with venv: ${missing}`)
  const documents: string[] = []
  for (const base of ['/v1', '/admin/v1']) {
    const file = join(folder, `${base.replaceAll('/', '')}.json`)
    await writeFile(file, await (await fetch(`${server.url}${base}/openapi.json`)).text())
    documents.push(file)
  }
  const found: ReturnType<typeof failuresIn> = []
  for (const [nth, base] of ['/v1', '/admin/v1'].entries()) {
    const document = documents[nth] ?? ''
    const report = join(folder, 'report.ndjson')
    const left = LEFT_OUT.flatMap((id) => ['--exclude-operation-id', id])
    const how = ['--phases', 'examples,coverage,fuzzing', '--max-examples', EXAMPLES, '--seed', SEED]
    const told = ['--report=ndjson', `--report-ndjson-path=${report}`, '--continue-on-failure', '--no-shrink']
    const to = ['-u', `${server.url}${base}`, '-H', `X-API-KEY: ${server.adminKey}`]
    await run(
      join(folder, 'python', 'bin', 'schemathesis'),
      ['run', document, ...to, ...left, ...how, ...told],
      {
        cwd: folder,
        maxBuffer: 1e9,
        env: {
          ...process.env,
          DOCUMENTS: documents.join(':'),
          PYTHONPATH: join(import.meta.dirname, '..', '..', 'helpers', 'server'),
          SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
        },
      },
      // It ends with 1 if it found something.
    ).catch((error) => expect(Object(error).code).toBe(1))
    const text = await readFile(report, 'utf8')
    expect(text.match(/^\{"ScenarioFinished"/gm)?.length).toBeGreaterThan(30)
    found.push(...failuresIn(text))
  }
  const isExplained = ({ name, status, said }: (typeof found)[number]) =>
    (name === 'positive_data_acceptance' &&
      (status === 412 || status === 422) &&
      REFUSED.some(([, error]) => error.test(said))) ||
    (name === 'allow_header_conformance' && status === 405 && ALLOW.test(said))
  const unknown = found.filter((one) => !isExplained(one))
  expect([...new Set(unknown.map((one) => JSON.stringify(one).slice(0, 600)))]).toEqual([])
}, 1_800_000)
