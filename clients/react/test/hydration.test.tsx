// @vitest-environment happy-dom
import { act, screen, waitFor } from '@testing-library/react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LaurelProvider, PointsCounter, usePoints } from '../src/index.ts'
import { FakeServer } from './fake-server.ts'
import { Gallery } from './pages.tsx'

/** Renders as a server does, then hydrates. Answers all complaints of React. */
async function hydrate(page: React.ReactNode): Promise<unknown[]> {
  const complaints: unknown[] = []
  vi.spyOn(console, 'error').mockImplementation((...args) => void complaints.push(args))
  const container = document.createElement('div')
  document.body.replaceChildren(container)
  container.innerHTML = renderToString(page)
  const root = await act(async () =>
    hydrateRoot(container, page, { onRecoverableError: (error) => void complaints.push(error) }),
  )
  onTestFinished(() => act(() => root.unmount()))
  return complaints
}

test('every component hydrates without a warning', async () => {
  expect(await hydrate(<Gallery />)).toEqual([])
})

test('a hook hydrates as it was rendered, and reads afterwards', async () => {
  const server = new FakeServer()
  const Total = () => <PointsCounter {...usePoints('xp')} />
  const complaints = await hydrate(
    <LaurelProvider client={server.client} userId="ada">
      <Total />
    </LaurelProvider>,
  )
  expect(complaints).toEqual([])
  await waitFor(() => expect(server.count('/points/xp')).toBe(1))
  await screen.findByText('This could not be loaded.')
})
