import { hash, hmac } from 'fast-sha256'
import { type Context, defaultOperators, type Emitter, Liquid, type Template } from 'liquidjs'
import { MOST_RENDERED_CHARACTERS } from '../../lib/limits'
import {
  boundRanges,
  ChargedContext,
  ChargedCycle,
  chargedFilters,
  chargedOperators,
  metered,
  weight,
} from './liquid-charges.service'

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
/** The most characters of an error that a message repeats. */
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
  if (error instanceof RangeError || message.includes('call stack')) return 'it is nested too deeply'
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

/** The output of a text, or of a captured part of it. */
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

/** A value as Liquid writes it. */
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
