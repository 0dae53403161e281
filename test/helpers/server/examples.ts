/**
 * The examples of a page. Each is a block of `bash`, a line with the response's status, and a block of `json`
 * with its body. If the response is not JSON, the page shows only the status. They run unchanged, in order,
 * in one shell. Later examples find the variables that earlier ones set.
 */

/** A fenced block of a page. */
export type Block = {
  line: number
  heading: string
  /** The text after the fence, such as `bash`. Empty if there is none. */
  language: string
  code: string
  /**
   * The reason why no test runs the block, from a comment `<!-- not run: … -->` above it. Null if tests run
   * it.
   */
  reason: string | null
}

/** A block of commands, and the result that the page shows. Null if the page shows none. */
export type Example = {
  line: number
  heading: string
  commands: string
  expected: Answer | null
  /** True if the page says that the result comes a moment later. */
  isLate: boolean
}

/**
 * The response to the last request of a block. Without requests, it is the output of the commands, without
 * status and headers. A body that is not JSON is a text. The body is undefined if the page does not show it.
 */
export type Answer = { status: number | null; headers: Record<string, string>; body: unknown }

const FENCE =
  /^#{1,3} (?<heading>.+)$|(?:^ *<!-- not run: (?<reason>.+) -->\n+)?^(?<indent> *)```(?<language>\w*)\n(?<code>[\s\S]*?)^ *```$/gm

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  let heading = ''
  return [...page.matchAll(FENCE)].flatMap(({ index, groups = {} }) => {
    heading = groups.heading ?? heading
    const { language, code, indent = '', reason = null } = groups
    if (code === undefined || language === undefined) return []
    const line = page.slice(0, index).split('\n').length
    const lines = code.split('\n').map((one) => one.replace(new RegExp(`^${indent}`), ''))
    return [{ line, heading, language, code: lines.join('\n'), reason }]
  })
}

/** True if a block is for a shell. */
export const isShell = ({ language }: Block): boolean => ['bash', 'sh'].includes(language)

const EXAMPLE =
  /^#{1,3} (?<heading>.+)$|(?<mark>^<!-- not run: .+ -->\n+)?^```(?:bash|sh)\n(?<commands>[\s\S]*?)^```$(?:\s+^`(?<status>\d{3})`(?<rest>.*)$)?(?:\s+^```json\n(?<body>[\s\S]*?)^```$)?/gm

/** The examples of a page that tests run, in order. Throws if a shown response is not JSON. */
export function examplesOf(page: string): Example[] {
  let heading = ''
  return [...page.matchAll(EXAMPLE)].flatMap(({ index, groups = {} }) => {
    heading = groups.heading ?? heading
    const { commands, status, rest = '', body, mark } = groups
    if (commands === undefined || mark !== undefined) return []
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

/** The files of a page. Each is a block of `js` that begins with its name in a comment. */
export function filesOf(page: string): [name: string, code: string][] {
  const blocks = [...page.matchAll(/^```js\n(\/\/ (\S+)\n[\s\S]*?)^```$/gm)]
  return blocks.map(([, code = '', name = '']) => [name, code])
}

/** The placeholders that a page shows for values that differ each time. */
const KINDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['<uuid>', matches(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)],
  ['<time>', matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)],
  ['<key>', matches(/^(app|adm)_[\w-]+\.[\w-]{22,}$/)],
  ['<prefix>', matches(/^(app|adm)_[\w-]+$/)],
  ['<token>', matches(/^eyJ[\w-]+\.[\w-]+\.[\w-]{43}$/)],
  ['<date>', matches(/^\d{4}-\d\d-\d\d$/)],
  ['<object>', (value) => typeof value === 'object' && value !== null && !Array.isArray(value)],
])

function matches(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value)
}

const VARIABLE = /\$\{?(\w+)\}?/g

/** The name of a field that says that an object of a page leaves out other fields. */
const OMITTED = '…'

/** The variables of a shell session. */
export type Variables = Map<string, string>

/** The names of the variables in the responses of a page. */
export const variablesOf = (page: string): string[] => [
  ...new Set([...page.matchAll(/\$\{?([A-Z][A-Z_]*)\b/g)].map(([, name = '']) => name)),
]

/**
 * The expected value of a page, ready to be compared with the actual one. A placeholder is replaced by the
 * actual value if that has the right kind. A variable is replaced by its value. A variable that is not set
 * yet gets the actual value. Inside a longer text, it gets as many characters as an address may have. An
 * object with the field "…" may have more fields than the page shows.
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
  const shown = Object.entries(expected).filter(([name]) => name !== OMITTED)
  const omitted = Object.hasOwn(expected, OMITTED)
    ? fields.filter(([field]) => !Object.hasOwn(expected, field))
    : []
  return Object.fromEntries([
    ...shown.map(([name, item]) => [
      name,
      expectation(item, fields.find(([field]) => field === name)?.[1], variables),
    ]),
    ...omitted,
  ])
}

/**
 * Sets the first unset variable inside a text to the actual text at its place, up to a space, a quote or an
 * angle bracket.
 */
function setAmid(expected: string, actual: string, variables: Variables): void {
  const unset = [...expected.matchAll(VARIABLE)].find(([, name = '']) => !variables.has(name))
  const before = filledIn(expected.slice(0, unset?.index), variables)
  const [value] = (actual.startsWith(before) && /^[^\s"<>]+/.exec(actual.slice(before.length))) || []
  if (unset?.[1] !== undefined && value !== undefined) variables.set(unset[1], value)
}

const filledIn = (text: string, variables: Variables) =>
  text.replaceAll(VARIABLE, (whole, name) => variables.get(name) ?? whole)
