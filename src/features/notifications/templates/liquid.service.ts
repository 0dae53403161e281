import { hash, hmac } from 'fast-sha256'
import { type Context, defaultOperators, type Emitter, Liquid, type Template } from 'liquidjs'
import {
  boundRanges,
  ChargedContext,
  ChargedCycle,
  chargedFilters,
  chargedOperators,
  metered,
  weight,
} from './liquid-charges.service'

/** How a text's variables are written: escaped for HTML, or as they are. */
export type Form = 'html' | 'text'

/** A text in Liquid, parsed. */
export type Parsed = { form: Form; templates: Template[] }

/** The most characters that a text comes to once it is rendered. */
const OUTPUT_MAX = 262_144
/**
 * What rendering a text may cost: 1 for each character that is made or looked at, each item of a list and each step of the interpreter's, `STEP`
 * for each tag, output and piece of text. A Worker's clock stands still while it computes, so that no limit in milliseconds would end a loop there.
 */
const BUDGET = 400_000
const STEP = 50
/** What liquidjs says where the budget is used up. */
const OVERDRAWN = 'memory alloc limit exceeded'
/** What reads other files, of which there are none. */
const PARTIALS = ['include', 'render', 'layout', 'block']
/** As much of a fault as a message repeats. */
const FAULT_MAX = 300

/** Thrown where a text can't be rendered; the message says why, and what to change. */
export class RenderError extends Error {}

/** Parses a text, or tells its first fault and the place of it. */
export function parseLiquid(form: Form, text: string): Parsed | { fault: string } {
  try {
    return { form, templates: engines[form].parse(text) }
  } catch (error) {
    return { fault: errorTextOf(error) }
  }
}

/** The text with these variables. Throws a RenderFault where it does what can't be done, or too much. */
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
  if (message.includes(OVERDRAWN)) return 'it makes too much: loop less, or over less'
  if (error instanceof RangeError || message.includes('call stack')) return 'it is nested too deeply'
  const [first = ''] = message.split('\n')
  return first.replace(/, line:(\d+), col:(\d+)$/, ' (line $1, column $2)').slice(0, FAULT_MAX)
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

/** What a text, or a part of it that is kept, is written on. */
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
    if (this.buffer.length + text.length > OUTPUT_MAX) {
      throw new RenderError(`it comes to more than ${OUTPUT_MAX} characters`)
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

/** Hashes in hexadecimal. liquidjs's own are promises in a Worker, and rendering waits for none. */
const HASHES = {
  sha256: (value: unknown) => hex(hash(bytesOf(value))),
  hmac_sha256: (value: unknown, key: unknown) => hex(hmac(bytesOf(key), bytesOf(value))),
}

boundRanges()
// Made once all that is above is there.
const engines = { html: engine('html'), text: engine('text') }
