import { afterEach, expect, it, vi } from 'vitest'
import { tell } from '../../src/core/tell.js'

const error = new Error('The app failed.')
const failures: [when: string, fail: () => unknown][] = [
  [
    'at once',
    () => {
      throw error
    },
  ],
  ['later', () => Promise.reject(error)],
]

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

it.each(failures)(
  'what a function of the app throws %s goes to onError, and is else reported',
  async (_, fail) => {
    const reported = vi.fn()
    vi.stubGlobal('reportError', reported)
    const onError = vi.fn()
    tell(fail, { onError })
    await vi.waitFor(() => expect(onError).toHaveBeenCalledExactlyOnceWith(error))
    expect(reported).not.toHaveBeenCalled()
    tell(fail, { onError: fail })
    await vi.waitFor(() => expect(reported).toHaveBeenCalledExactlyOnceWith(error))
  },
)

it('without a reportError that goes on, the console gets it', () => {
  const log = vi.spyOn(console, 'error').mockReturnValue()
  const [, fail = () => undefined] = failures[0] ?? []
  tell(fail)
  const ends = vi.fn()
  vi.stubGlobal('reportError', ends)
  vi.stubGlobal('Deno', {})
  tell(fail)
  expect([log.mock.calls, ends.mock.calls]).toEqual([[[error], [error]], []])
})
