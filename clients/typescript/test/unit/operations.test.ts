import { describe, expect, it } from 'vitest'
import { wholeDocument } from '../../scripts/generate.mjs'
import { List } from '../../src/core/list.js'
import { Laurel } from '../../src/index.js'
import { accepted, failure, fake, json, type Sent } from '../fake-fetch.js'

type Documented = { id: string; method: string; path: string; query: string[] }

const document = await wholeDocument()

const DOCUMENTED: Documented[] = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, { parameters }]) => ({
    id: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
  })),
)

/** The arguments of methods that need more than texts. All others get the texts a, b, c, and so on. */
const ARGUMENTS: Readonly<Record<string, unknown[]>> = {
  event: ['a', { user: { id: 'ada' }, value: 1 }],
  'admin.eventBatches.create': [[]],
  'admin.points.adjustments.create': ['a', []],
  'users.achievements.list': ['a', {}],
}

/** The method whose answer is a stream. */
const LIVE = 'leaderboards.live'

/** The methods that send no request of their own. */
const OTHERS = ['with', 'request', 'now', 'forgetKey', 'webhooks.verify']

/** All methods of an object and of the objects in it, by their path. */
function methodsOf(target: object, prefix = ''): [name: string, call: (args: unknown[]) => unknown][] {
  const inherited: string[] = []
  for (
    let type: unknown = Object.getPrototypeOf(target);
    typeof type === 'object' && type !== null && type !== Object.prototype;
    type = Object.getPrototypeOf(type)
  )
    inherited.push(...Object.getOwnPropertyNames(type))
  const names = new Set([...Object.keys(target), ...inherited])
  names.delete('constructor')
  return [...names].flatMap((name): ReturnType<typeof methodsOf> => {
    const member: unknown = Reflect.get(target, name)
    if (typeof member === 'function') return [[prefix + name, (args) => Reflect.apply(member, target, args)]]
    return typeof member === 'object' && member !== null ? methodsOf(member, `${prefix}${name}.`) : []
  })
}

/** The operation that a request calls. Its parameters must be a, b, c, in this order. */
function operationOf({ method, path }: Sent): Documented | undefined {
  const [pathname = ''] = path.split('?')
  const matches = DOCUMENTED.filter((operation) => {
    let next = 'a'.charCodeAt(0)
    const filled = operation.path.replaceAll(/\{\w+\}/g, () => String.fromCharCode(next++))
    return operation.method === method && filled === pathname
  })
  return matches[0]
}

/** Calls a method of a client. Answers its requests: two, if it goes through a list of two pages. */
async function requestsOf(name: string): Promise<Sent[]> {
  const next = { link: '<https://laurel.example.com/x?limit=100&after=cursor>; rel="next"' }
  const page = Array.from({ length: 100 }, (_, index) => ({ index }))
  // A watched leaderboard asks again and again, except after a 404.
  const answers = { [LIVE]: [failure(404)], event: [accepted()] }[name] ?? [json(page, 200, next), json([])]
  const { sent, options } = fake(...answers)
  const [, call] = methodsOf(new Laurel(options)).find(([one]) => one === name) ?? []
  if (call === undefined) throw new Error(`There is no method ${name}`)
  if (name === LIVE) {
    await new Promise((onError) => call(['a', { onRanking: () => undefined, onError }]))
    return sent
  }
  const called = call(ARGUMENTS[name] ?? ['a', 'b', 'c', 'd'])
  if (called instanceof List) await called.toArray()
  else await called
  return sent
}

const METHODS = methodsOf(new Laurel(fake().options))
  .map(([name]) => name)
  .filter((name) => !OTHERS.includes(name))

describe('the methods of the client', () => {
  it('call every operation of both documents, and nothing else', async () => {
    const called = new Map<string, string>()
    for (const name of METHODS) {
      const [first] = await requestsOf(name)
      const operation = first && operationOf(first)
      expect({ name, operation: operation?.id }).toEqual({ name, operation: expect.any(String) })
      called.set(operation?.id ?? '', name)
    }
    // No operation has two methods.
    expect(called.size).toBe(METHODS.length)
    expect([...called.keys()].sort()).toEqual(DOCUMENTED.map(({ id }) => id).sort())
  })

  it('[O3, G7] go through the pages of a list as its operation has them', async () => {
    for (const name of METHODS) {
      const [first, second] = await requestsOf(name)
      const { query = [] } = (first && operationOf(first)) ?? {}
      const paging = query.includes('after') ? 'after=cursor' : query.includes('skip') ? 'skip=100' : null
      if (paging === null) expect([name, second]).toEqual([name, undefined])
      else expect([name, second?.path]).toEqual([name, expect.stringContaining(paging)])
    }
  })
})
