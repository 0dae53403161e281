import { afterAll, beforeAll } from 'vitest'
import { type Server, startServer } from '../../helpers/server/harness'
import { testReferencePage } from '../../helpers/server/reference-page'

let server: Server

beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

testReferencePage(() => server)
