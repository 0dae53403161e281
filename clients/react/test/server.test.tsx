import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { Gallery } from './pages.tsx'

test('every component renders on a server, without window and document', () => {
  expect(typeof window).toBe('undefined')
  const html = renderToString(<Gallery />)
  expect(html).toContain('day streak')
  expect(html).toContain('Grace Hopper')
  expect(html).toContain('aria-busy="true"')
})
