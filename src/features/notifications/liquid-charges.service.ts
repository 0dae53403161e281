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

/** The largest absolute end of a range: above 2^53, adding 1 changes nothing, so it would never end. */
const MOST_END = 1_000_000_000

/**
 * The size of a value: the characters of a text; for a list, 1 for each item and the size of the items. Stops
 * counting above `most`.
 */
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

/**
 * All filters, of liquidjs and of Laurel. Each use costs 1 and the size of its input and arguments. Some
 * filters of liquidjs charge nothing for texts, even long ones.
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

/** The operators. A comparison costs the size of both sides. */
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

/**
 * Variables. Reading a list costs its size. So later uses of the list by a tag, such as a key, cost no more.
 */
export class ChargedContext extends Context {
  override *_getFromScope(
    ...args: Parameters<Context['_getFromScope']>
  ): Generator<unknown, unknown, unknown> {
    const value = yield super._getFromScope(...args)
    if (Array.isArray(value)) look(this, Number.MAX_SAFE_INTEGER, [value])
    return value
  }
}

/** The tag `cycle`. It reads its own text each time, so each use costs the length of that text. */
export class ChargedCycle extends CycleTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, unknown, unknown> {
    context.memoryLimit.use(this.token.getText().length)
    return yield super.render(context, emitter)
  }
}

const isSteps = (value: unknown): value is Iterator<unknown, unknown, unknown> =>
  typeof value === 'object' && value !== null && 'next' in value && 'throw' in value

/** The same steps, but each costs 1. This includes the steps that a step waits for. */
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

/**
 * Limits the ends of all ranges to `MOST_END`, in every tag and filter. liquidjs builds the whole range at
 * once.
 */
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
