import { describe, expect, it } from 'vitest'
import { Laurel } from '../../src/index.js'
import { errorOf, failure, fake, json } from '../fake-fetch.js'

const items = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({ key: `k${from + index}` }))
const link = (after: string) => ({
  link: `<https://elsewhere.example.com/admin/v1/users?after=${after}&limit=2>; rel="next"`,
})

describe('a list', () => {
  it('[O3] goes through all pages by their cursors, and asks for each when it is needed', async () => {
    const { sent, options } = fake(
      json(items(0, 2), 200, link('c%3D1')),
      json(items(2, 4), 200, link('c2')),
      json(items(4, 5)),
    )
    const laurel = new Laurel(options)
    const keys: string[] = []
    const requests: number[] = []
    for await (const { id, ...rest } of laurel.admin.users.list({ search: 'a', limit: 2 })) {
      keys.push(JSON.stringify(rest))
      requests.push(sent.length)
    }
    expect(keys).toHaveLength(5)
    expect(requests).toEqual([1, 1, 2, 2, 3])
    // The cursor is taken from the link, but not its address: that one could get the key.
    expect(sent.map(({ url }) => url)).toEqual([
      'https://laurel.example.com/admin/v1/users?limit=2&search=a',
      'https://laurel.example.com/admin/v1/users?limit=2&search=a&after=c%3D1',
      'https://laurel.example.com/admin/v1/users?limit=2&search=a&after=c2',
    ])
  })

  it('[O3] begins at a place, and never sends it together with a cursor', async () => {
    const { sent, options } = fake(json(items(0, 2), 200, link('c1')), json([]))
    await new Laurel(options).admin.users.list({ limit: 2, skip: 4 }).toArray()
    expect(sent.map(({ path }) => path)).toEqual([
      '/admin/v1/users?limit=2&skip=4',
      '/admin/v1/users?limit=2&after=c1',
    ])
  })

  it('[G7] ends with the empty page if the limit is null, as programs without types may pass it', async () => {
    const { options } = fake(json(items(0, 2)), json([]))
    const query = Object({ limit: null, skip: 3 })
    expect(await new Laurel(options).admin.metrics.list(query).toArray()).toEqual(items(0, 2))
  })

  it.each([{ limit: 2, skip: 3 }, Object({ limit: '2', skip: '3' })])(
    '[G7] goes through all pages by skip, until one is not full: %o',
    async (query) => {
      const { sent, options } = fake(json(items(0, 2)), json(items(2, 4)), json([]))
      expect(await new Laurel(options).admin.metrics.list(query).toArray()).toEqual(items(0, 4))
      expect(sent.map(({ path }) => path)).toEqual([
        '/admin/v1/metrics?limit=2&skip=3',
        '/admin/v1/metrics?limit=2&skip=5',
        '/admin/v1/metrics?limit=2&skip=7',
      ])
    },
  )

  it('answers the first page if it is awaited', async () => {
    const { sent, options } = fake(json(items(0, 2), 200, link('c1')))
    const list = new Laurel(options).admin.auditLog.list({ limit: 2 })
    expect(sent).toEqual([])
    expect(await list).toEqual(items(0, 2))
    expect((await list.withResponse()).response.headers.get('link')).toContain('after=c1')
    expect(sent).toHaveLength(2)
  })

  it('has pages', async () => {
    const { options } = fake(json(items(0, 2), 200, link('c1')), json(items(2, 3)))
    const sizes: number[] = []
    const list = new Laurel(options).admin.users.timeline.list('ada', { limit: 2 })
    for await (const page of list.pages()) sizes.push(page.length)
    expect(sizes).toEqual([2, 1])
  })

  it('stops at an error', async () => {
    const { options } = fake(json(items(0, 2), 200, link('c1')), failure(403))
    const list = new Laurel(options).admin.users.list({ limit: 2 })
    expect(await errorOf(list.toArray())).toMatchObject({ status: 403 })
    expect(await list.catch((error) => error)).toMatchObject({ status: 403 })
  })
})
