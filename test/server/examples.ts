/**
 * The examples of a page of docs/: each is a block of `bash`, a line with the status of the answer, and a block of `json` with its body;
 * of an answer that is no JSON only the status is told.
 * They run in bash as they stand, one after another, and what one sets the next ones find.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A block of commands, and what the page says that they come to; null where it says nothing. */
export type Example = {
  line: number
  heading: string
  commands: string
  expected: Answer | null
  /** Whether the page says that it is so only a moment later. */
  isLate: boolean
}

/**
 * What the last curl of a block was answered, with no status and no headers what the commands printed. A body that is no JSON is its text;
 * undefined, where a page says nothing of it.
 */
export type Answer = { status: number | null; headers: Record<string, string>; body: unknown }

const BLOCKS =
  /^## (?<heading>.+)$|^```bash\n(?<commands>[\s\S]*?)^```$(?:\s+^`(?<status>\d{3})`(?<rest>.*)$)?(?:\s+^```json\n(?<body>[\s\S]*?)^```$)?/gm

/** The examples of a page, in order. Throws where an answer is no JSON. */
export function examplesOf(page: string): Example[] {
  let heading = ''
  return [...page.matchAll(BLOCKS)].flatMap(({ index, groups = {} }) => {
    heading = groups.heading ?? heading
    const { commands, status, rest = '', body } = groups
    if (commands === undefined) return []
    const named = [...rest.matchAll(/`([\w-]+): ([^`]+)`/g)]
    const expected =
      body === undefined && status === undefined
        ? null
        : {
            status: status === undefined ? null : Number(status),
            headers: Object.fromEntries(
              named.map(([, name = '', value = '']) => [name.toLowerCase(), value]),
            ),
            body: body === undefined ? undefined : JSON.parse(body),
          }
    const line = page.slice(0, index).split('\n').length
    return [{ line, heading, commands, expected, isLate: rest.includes('a moment later') }]
  })
}

/** The files of a page: each a block of `js` that begins with its name in a comment. */
export function filesOf(page: string): [name: string, code: string][] {
  const blocks = [...page.matchAll(/^```js\n(\/\/ (\S+)\n[\s\S]*?)^```$/gm)]
  return blocks.map(([, code = '', name = '']) => [name, code])
}

/** What stands in a page for a value that is another one each time. */
const KINDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['<uuid>', matches(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)],
  ['<time>', matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)],
  ['<key>', matches(/^(app|adm)_[\w-]+\.[\w-]{22,}$/)],
  ['<prefix>', matches(/^(app|adm)_[\w-]+$/)],
  ['<date>', matches(/^\d{4}-\d\d-\d\d$/)],
  ['<object>', (value) => typeof value === 'object' && value !== null && !Array.isArray(value)],
])

function matches(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value)
}

const VARIABLE = /\$\{?(\w+)\}?/g

/** The variables of a shell session. */
export type Variables = Map<string, string>

/**
 * What the page expects, to be compared with what came: a placeholder is replaced by the value that stands there if that is of its kind, a
 * variable by its value. One that isn't set yet is set to what stands there; amid other text, to as much as an address may have.
 */
export function expectation(expected: unknown, actual: unknown, variables: Variables): unknown {
  if (typeof expected === 'string') {
    if (KINDS.get(expected)?.(actual)) return actual
    const [, name] = /^\$(\w+)$/.exec(expected) ?? []
    if (name !== undefined && !variables.has(name) && typeof actual === 'string') variables.set(name, actual)
    if (typeof actual === 'string') setAmid(expected, actual, variables)
    return filledIn(expected, variables)
  }
  if (Array.isArray(expected)) {
    const values = Array.isArray(actual) ? actual : []
    return expected.map((item, index) => expectation(item, values[index], variables))
  }
  if (typeof expected !== 'object' || expected === null) return expected
  const fields = typeof actual === 'object' && actual !== null ? Object.entries(actual) : []
  return Object.fromEntries(
    Object.entries(expected).map(([name, item]) => [
      name,
      expectation(item, fields.find(([field]) => field === name)?.[1], variables),
    ]),
  )
}

/** Sets the first variable amid a text that isn't set yet to what came in its place, up to a blank, a quote or an angle bracket. */
function setAmid(expected: string, actual: string, variables: Variables): void {
  const unset = [...expected.matchAll(VARIABLE)].find(([, name = '']) => !variables.has(name))
  const before = filledIn(expected.slice(0, unset?.index), variables)
  const [value] = (actual.startsWith(before) && /^[^\s"<>]+/.exec(actual.slice(before.length))) || []
  if (unset?.[1] !== undefined && value !== undefined) variables.set(unset[1], value)
}

const filledIn = (text: string, variables: Variables) =>
  text.replaceAll(VARIABLE, (whole, name) => variables.get(name) ?? whole)

/** How long the commands of a block may take, in milliseconds. */
const PATIENCE = 90_000

/** A shell in a folder, whose variables outlive each command; `curlOptions` are added to every call of curl. */
export class Shell {
  readonly folder: string
  variables: Variables
  curlOptions: readonly string[] = []

  constructor(folder: string, variables: Record<string, string>) {
    this.folder = folder
    this.variables = new Map(Object.entries(variables))
  }

  /** Runs commands. Throws where one of them fails, or where a curl before the last one is refused. */
  async run(commands: string): Promise<Answer> {
    const file = (name: string) => join(this.folder, `.example-${name}`)
    const options = this.curlOptions.map((option) => `'${option}'`).join(' ')
    const script = `set -ea
curl() { command curl --max-time 60 -D '${file('head')}' -o '${file('body')}' -w '%{http_code}\\n' ${options} "$@"; }
${commands}
env -0 > '${file('env')}'`
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: this.folder,
      timeout: PATIENCE,
      env: { PATH: process.env.PATH, ...Object.fromEntries(this.variables) },
    })
    for (const entry of (await readFile(file('env'), 'utf8')).split('\0')) {
      const [, name, value] = /^([A-Z_]+)=([\s\S]*)$/.exec(entry) ?? []
      if (name !== undefined && value !== undefined) this.variables.set(name, value)
    }
    const statuses = stdout.match(/^\d{3}$/gm) ?? []
    const status = statuses.pop()
    if (statuses.some((earlier) => !earlier.startsWith('2'))) throw new Error(`${statuses}: ${commands}`)
    if (status === undefined) {
      return { status: null, headers: {}, body: stdout === '' ? null : JSON.parse(stdout) }
    }
    const head = await readFile(file('head'), 'utf8')
    const lines = [...head.matchAll(/^([\w-]+): *(.*?)\r?$/gm)]
    const headers = Object.fromEntries(lines.map(([, name = '', value = '']) => [name.toLowerCase(), value]))
    // With `curl -i` the headers stand before the body.
    const text = (await readFile(file('body'), 'utf8')).replace(/^HTTP\/[\s\S]*?\r?\n\r?\n/, '')
    const isJson = headers['content-type']?.includes('json') === true
    return { status: Number(status), headers, body: isJson ? JSON.parse(text) : text }
  }
}
