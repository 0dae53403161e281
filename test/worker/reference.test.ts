import { describe, expect, it } from 'vitest'
import { version } from '../../package.json'
import { at, call, toApp } from './harness'

describe('the OpenAPI documents', () => {
  it.each(['/v1/openapi.json', '/admin/v1/openapi.json'])('%s shows the version of Laurel', async (path) => {
    const { body } = await call(toApp, 'GET', path)
    expect(at(body, 'info')).toMatchObject({ title: 'Laurel', version })
  })
})
