import {
  Context,
  CycleTag,
  type Emitter,
  Expression,
  evalTokenValue,
  type FilterImplOptions,
  filters,
  type Operators,
  Tokenizer,
  type ValueToken,
} from 'liquidjs'

/** The largest number that a range may begin or end with, up or down: far above 2^53 adding 1 changes nothing, and a range has no end. */
const RANGE_MAX = 1_000_000_000

/** How much there is to look at in a value: a text's characters; in a list 1 for each item, and what is in it. It counts no further than to `most`. */
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

/** Charges for looking at all of these values. Throws where that is more than is left. */
function look({ memoryLimit }: Budget, most: number, values: readonly unknown[]): void {
  for (const value of values) memoryLimit.use(weight(value, most))
}

/** What only asks for a value's length or for one end of it, or hands it on. */
const BRIEF = ['size', 'first', 'last', 'default', 'raw']

/**
 * The filters, liquidjs's and our own, of which each use costs 1 and what it looks at: its input and its arguments. Some of liquidjs's own charge
 * nothing for texts, however long.
 */
export function chargedFilters(
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

/** The operators, of which those that compare cost as much as they look at. */
export function chargedOperators(operators: Operators, most: number): Operators {
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

/** Variables, of which reading a list costs as much as there is in it: what tags do with it afterwards, such as writing it as a key, costs no more. */
export class ChargedContext extends Context {
  override *_getFromScope(
    ...args: Parameters<Context['_getFromScope']>
  ): Generator<unknown, unknown, unknown> {
    const value = yield super._getFromScope(...args)
    if (Array.isArray(value)) look(this, Number.MAX_SAFE_INTEGER, [value])
    return value
  }
}

/** The tag `cycle`, which reads its own text each time, and costs as much. */
export class ChargedCycle extends CycleTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, unknown, unknown> {
    context.memoryLimit.use(this.token.getText().length)
    return yield super.render(context, emitter)
  }
}

const isSteps = (value: unknown): value is Iterator<unknown, unknown, unknown> =>
  typeof value === 'object' && value !== null && 'next' in value && 'throw' in value

/** The same steps, of which each costs 1, also those of what a step waits for. */
export function* metered(
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

/** An end of a range, which must not be too far out. */
class RangeEnd extends Expression {
  readonly #end: ValueToken

  constructor(end: ValueToken) {
    super([])
    this.#end = end
  }

  override *evaluate(context: Context): Generator<unknown, unknown, unknown> {
    const value = yield evalTokenValue(this.#end, context)
    if (Math.abs(Number(value)) > RANGE_MAX) throw new Error('a range goes too far')
    return value
  }
}

/** Has no range begin or end beyond `RANGE_MAX`, whatever parses it: liquidjs counts to the end of one at once. */
export function boundRanges(): void {
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
