import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Context,
  defaultOperators,
  Expression,
  evalTokenValue,
  Liquid,
  Tokenizer,
  TypeGuards,
} from 'liquidjs'
import { describe, expect, it, test } from 'vitest'
import { words } from '../helpers/words'

/*
 * Parts of liquidjs that its documentation does not promise keep templates from using up a Worker
 * (src/features/notifications/templates/liquid*.ts). If one of these tests fails after an update, that part
 * has changed. Read the new code of liquidjs before you change anything else.
 */

test('liquidjs is pinned to the version that was reviewed', () => {
  const manifest = (...path: string[]) =>
    JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', ...path), 'utf8'))
  expect(manifest('package.json').dependencies.liquidjs).toBe('10.30.1')
  expect(manifest('node_modules', 'liquidjs', 'package.json').version).toBe('10.30.1')
})

const engine = (more: object = {}) => new Liquid({ templates: {}, ...more })
const contextOf = (liquid: Liquid, variables: object) =>
  new Context(variables, liquid.options, { sync: true }, { liquid })

const isSteps = (value: unknown): value is Generator<unknown, unknown, unknown> =>
  typeof value === 'object' && value !== null && 'next' in value && 'throw' in value

/** Runs steps to their end, as liquidjs does without promises. */
function run(steps: unknown): unknown {
  if (!isSteps(steps)) return steps
  let state = steps.next()
  while (state.done !== true) state = steps.next(run(state.value))
  return run(state.value)
}

describe('everything that is rendered passes the code that charges', () => {
  it('each list of templates, also in nested tags, goes through renderTemplates of the renderer', () => {
    const liquid = engine()
    const { renderer } = liquid
    const render = renderer.renderTemplates.bind(renderer)
    const seen: number[] = []
    renderer.renderTemplates = (templates, ...rest) => {
      seen.push(templates.length)
      return render(templates, ...rest)
    }
    const text =
      'a{% if true %}b{{ c }}{% endif %}{% for i in (1..2) %}{{ i }}{% endfor %}{% capture d %}e{% endcapture %}'
    expect(liquid.renderSync(liquid.parse(text), contextOf(liquid, { c: 'c' }))).toBe('abc12')
    expect(seen).toEqual([4, 2, 1, 1, 1])
  })

  it('renderTemplates writes to the given emitter, and returns its buffer', () => {
    const liquid = engine()
    const written: unknown[] = []
    const emitter = {
      buffer: '',
      write(value: unknown) {
        written.push(value)
        this.buffer += `<${value}>`
      },
    }
    const context = contextOf(liquid, { list: [1, 2] })
    const steps = liquid.renderer.renderTemplates(liquid.parse('a{{ list }}'), context, emitter)
    expect(run(steps)).toBe('<a><1,2>')
    expect(written).toEqual(['a', [1, 2]])
  })

  it('variables are read by _getFromScope of the context, one property at a time or all at once', () => {
    const read: unknown[] = []
    class Seen extends Context {
      override *_getFromScope(
        ...args: Parameters<Context['_getFromScope']>
      ): Generator<unknown, unknown, unknown> {
        const value = yield super._getFromScope(...args)
        read.push(value)
        return value
      }
    }
    const liquid = engine()
    const context = new Seen({ a: { list: [1, 2] } }, liquid.options, { sync: true }, { liquid })
    expect(liquid.renderSync(liquid.parse('{{ a.list | size }}'), context)).toBe('2')
    expect(read).toContainEqual([1, 2])
  })
})

describe('replaced parts', () => {
  it('operators are the reviewed ones, and are called with both sides and the context', () => {
    expect(Object.keys(defaultOperators).sort()).toEqual(
      ['!=', '<', '<=', '==', '>', '>=', 'and', 'contains', 'not', 'or'].sort(),
    )
    const seen: unknown[] = []
    const operators = {
      ...defaultOperators,
      contains: (left: unknown, right: unknown, context: Context) => {
        seen.push(left, right, context instanceof Context)
        return true
      },
    }
    expect(engine({ operators }).parseAndRenderSync("{% if 'ab' contains 'a' %}yes{% endif %}")).toBe('yes')
    expect(seen).toEqual(['ab', 'a', true])
  })

  it('the tags that read other files are exactly the removed ones', () => {
    const { tags } = engine()
    expect(Object.keys(tags).sort()).toEqual(
      [
        ...['#', 'assign', 'block', 'break', 'capture', 'case', 'comment', 'continue', 'cycle', 'decrement'],
        ...words`echo for if include increment layout liquid raw render tablerow unless`,
      ].sort(),
    )
  })
})

describe('ranges', () => {
  it('are parsed only by readGroupOrRange, in every tag and filter, and have two ends', () => {
    const { readGroupOrRange } = Tokenizer.prototype
    const ranges: string[] = []
    Tokenizer.prototype.readGroupOrRange = function (...args) {
      const token = readGroupOrRange.apply(this, args)
      if (token !== undefined && TypeGuards.isRangeToken(token)) {
        expect(token).toMatchObject({ lhs: expect.any(Object), rhs: expect.any(Object) })
        ranges.push(token.getText())
      }
      return token
    }
    try {
      const liquid = engine()
      const text =
        '{% for i in (1..2) %}{{ i }}{% endfor %}{{ (3..4) | join }}{% assign a = (5..6) %}{{ a | join }}' +
        '{% tablerow i in (7..8) %}{% endtablerow %}'
      expect(liquid.parseAndRenderSync(text)).toContain('123 45 6')
      expect(ranges).toEqual(['(1..2)', '(3..4)', '(5..6)', '(7..8)'])
    } finally {
      Tokenizer.prototype.readGroupOrRange = readGroupOrRange
    }
  })

  it('an end may be a filtered value, and its expression is evaluated with the range', () => {
    class Fixed extends Expression {
      override *evaluate(): Generator<unknown, unknown, unknown> {
        return yield 7
      }
    }
    const token = new Tokenizer('x').readFilteredValue()
    expect(token).toHaveProperty('initial')
    token.initial = new Fixed([])
    const context = contextOf(engine(), { x: 1 })
    expect(run(evalTokenValue(token, context))).toBe(7)
    expect(run(evalTokenValue(new Tokenizer('x').readFilteredValue(), context))).toBe(1)
  })
})
