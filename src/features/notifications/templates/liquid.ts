import { hash, hmac } from 'fast-sha256'
import {
  Context,
  CycleTag,
  defaultOperators,
  type Emitter,
  Expression,
  evalTokenValue,
  type FilterImplOptions,
  filters,
  Liquid,
  type Operators,
  type Template,
  Tokenizer,
  type ValueToken,
} from 'liquidjs'
import { MOST_RENDERED_CHARACTERS } from '../../../lib/limits'

/** The largest absolute end of a range: above 2^53, adding 1 changes nothing, so it would never end. */
const MOST_END = 1_000_000_000

/** The characters of a text; of a list, 1 for each item and its size. Stops counting above `most`. */
export function weight(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length
  if (!Array.isArray(value)) return 0
  let sum = value.length
  for (const item of value) {
    if (sum > most) break
    sum += weight(item, most - sum)
  }
  return sum
}

type Budget = Pick<Context, 'memoryLimit'>

/** Charges for reading all of these values. Throws if the budget does not suffice. */
function look({ memoryLimit }: Budget, most: number, values: readonly unknown[]): void {
  for (const value of values) memoryLimit.use(weight(value, most))
}

/** Filters that only read a value's length or one end of it, or return it as it is. */
const BRIEF = ['size', 'first', 'last', 'default', 'raw']

/** All filters. Each use costs 1 and the size of its values: some of liquidjs charge nothing for texts. */
function chargedFilters(
  most: number,
  own: Readonly<Record<string, FilterImplOptions>>,
): [name: string, FilterImplOptions][] {
  return Object.entries<FilterImplOptions>({ ...filters, ...own }).map(([name, filter]) => {
    const { handler, raw } = typeof filter === 'function' ? { handler: filter, raw: false } : filter
    return [
      name,
      {
        raw,
        handler(value: unknown, ...args: unknown[]) {
          look(this.context, most, BRIEF.includes(name) ? [' '] : [' ', value, ...args])
          return handler.call(this, value, ...args)
        },
      },
    ]
  })
}

/** The operators. A comparison costs the size of both sides. */
function chargedOperators(operators: Operators, most: number): Operators {
  const isLogical = (name: string) => ['and', 'or', 'not'].includes(name)
  return Object.fromEntries(
    Object.entries(operators).map(([name, operator]) => {
      if (isLogical(name)) return [name, operator]
      const compare: Operators[string] = (left: unknown, right: unknown, context: Context) => {
        look(context, most, [left, right])
        return operator(left, right, context)
      }
      return [name, compare]
    }),
  )
}

/** Variables. Reading a list costs its size. So later uses of it by a tag, such as a key, cost no more. */
class ChargedContext extends Context {
  override *_getFromScope(
    ...args: Parameters<Context['_getFromScope']>
  ): Generator<unknown, unknown, unknown> {
    const value = yield super._getFromScope(...args)
    if (Array.isArray(value)) look(this, Number.MAX_SAFE_INTEGER, [value])
    return value
  }
}

/** The tag `cycle`. It reads its own text each time, so each use costs the length of that text. */
class ChargedCycle extends CycleTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, unknown, unknown> {
    context.memoryLimit.use(this.token.getText().length)
    return yield super.render(context, emitter)
  }
}

const isSteps = (value: unknown): value is Iterator<unknown, unknown, unknown> =>
  typeof value === 'object' && value !== null && 'next' in value && 'throw' in value

/** The same steps, but each costs 1. This includes the steps that a step waits for. */
function* metered(
  steps: Iterator<unknown, unknown, unknown>,
  budget: Budget,
): Generator<unknown, unknown, unknown> {
  let state = steps.next()
  while (state.done !== true) {
    budget.memoryLimit.use(1)
    const { value } = state
    let said: unknown
    try {
      said = yield isSteps(value) ? metered(value, budget) : value
    } catch (error) {
      if (steps.throw === undefined) throw error
      state = steps.throw(error)
      continue
    }
    state = steps.next(said)
  }
  return isSteps(state.value) ? yield metered(state.value, budget) : state.value
}

/** An end of a range, with the limit `MOST_END`. */
class RangeEnd extends Expression {
  readonly #end: ValueToken

  constructor(end: ValueToken) {
    super([])
    this.#end = end
  }

  override *evaluate(context: Context): Generator<unknown, unknown, unknown> {
    const value = yield evalTokenValue(this.#end, context)
    if (Math.abs(Number(value)) > MOST_END) throw new Error('a range begins or ends too far from 0')
    return value
  }
}

/** Limits the ends of all ranges to `MOST_END`. liquidjs builds the whole range at once. */
function boundRanges(): void {
  const { readGroupOrRange } = Tokenizer.prototype
  Tokenizer.prototype.readGroupOrRange = function (...args) {
    const token = readGroupOrRange.apply(this, args)
    if (token !== undefined && 'lhs' in token) {
      token.lhs = ending(token.lhs)
      token.rhs = ending(token.rhs)
    }
    return token
  }
}

function ending(end: ValueToken): ValueToken {
  const token = new Tokenizer('x').readFilteredValue()
  token.initial = new RangeEnd(end)
  return token
}

/** How variables are written into a text: escaped for HTML, or unchanged. */
export type Form = 'html' | 'text'

/** A text in Liquid, parsed. */
export type Parsed = { form: Form; templates: Template[] }

/**
 * The most that rendering a text may cost. Each character that is written or read, each item of a list and
 * each step of the interpreter costs 1. Each tag, output and piece of text costs `STEP`. A limit in
 * milliseconds would end no loop: a Worker's clock does not move while it computes.
 */
const BUDGET = 400_000
const STEP = 50
/** The error message of liquidjs if the budget is used up. */
const OVERDRAWN = 'memory alloc limit exceeded'
/** Tags that read other files. There are none. */
const PARTIALS = ['include', 'render', 'layout', 'block']
const MOST_ERROR_CHARACTERS = 300

/** Thrown if a text can't be rendered. The message says why, and how to fix it. */
export class RenderError extends Error {}

/** Parses a text, or returns its first problem and the place of it. */
export function parseLiquid(form: Form, text: string): Parsed | { fault: string } {
  try {
    return { form, templates: engines[form].parse(text) }
  } catch (error) {
    return { fault: errorTextOf(error) }
  }
}

/** The text with these variables. Throws a RenderError if it fails or costs too much. */
export function renderLiquid({ form, templates }: Parsed, variables: object): string {
  try {
    const liquid = engines[form]
    const context = new ChargedContext(variables, liquid.options, { sync: true }, { liquid })
    const rendered: unknown = liquid.renderSync(templates, context)
    return plain(rendered)
  } catch (error) {
    throw new RenderError(errorTextOf(error))
  }
}

function errorTextOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (message.includes(OVERDRAWN)) return 'it renders too much: loop less often, or over fewer items'
  // If a regular expression meets the end of the stack first, the engine throws a SyntaxError.
  if (error instanceof RangeError || /call stack|: Stack overflow/.test(message))
    return 'it is nested too deeply'
  const [first = ''] = message.split('\n')
  return first.replace(/, line:(\d+), col:(\d+)$/, ' (line $1, column $2)').slice(0, MOST_ERROR_CHARACTERS)
}

function engine(form: Form): Liquid {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    memoryLimit: BUDGET,
    operators: chargedOperators(defaultOperators, BUDGET),
    timezoneOffset: 0,
    locale: 'en-US',
    ...(form === 'html' && { outputEscape: 'escape' as const }),
  })
  for (const tag of PARTIALS) delete liquid.tags[tag]
  liquid.registerTag('cycle', ChargedCycle)
  for (const [name, filter] of chargedFilters(BUDGET, HASHES)) liquid.registerFilter(name, filter)
  const { renderer } = liquid
  const render = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates, context, emitter = new Page(context)) => {
    context.memoryLimit.use(STEP * (1 + templates.length))
    return metered(render(templates, context, emitter), context)
  }
  return liquid
}

class Page implements Emitter {
  buffer = ''
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  write(value: unknown): void {
    if (Array.isArray(value)) this.#context.memoryLimit.use(weight(value, BUDGET))
    const text = plain(value)
    this.#context.memoryLimit.use(text.length)
    if (this.buffer.length + text.length > MOST_RENDERED_CHARACTERS) {
      throw new RenderError(`it renders to more than ${MOST_RENDERED_CHARACTERS} characters`)
    }
    this.buffer += text
  }
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(plain).join('')
  return value === null || value === undefined ? '' : String(value)
}

const bytesOf = (value: unknown) => new TextEncoder().encode(plain(value))
const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Hexadecimal. The hashes of liquidjs are promises here, and a synchronous render can't wait for them. */
const HASHES = {
  sha256: (value: unknown) => hex(hash(bytesOf(value))),
  hmac_sha256: (value: unknown, key: unknown) => hex(hmac(bytesOf(key), bytesOf(value))),
}

boundRanges()
// At the end of the file, because `engine` needs the values above.
const engines = { html: engine('html'), text: engine('text') }
