import { afterEach, beforeEach, expect } from 'vitest'
import { conforming, isEventStream } from '../conformance'
import { SEED, seedTests } from '../seed'

seedTests()
beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(`TEST_SEED=${SEED}`)))

const send = globalThis.fetch
const violations: unknown[] = []

// Checks every response of a server that a test starts against the contract, including responses to the npm
// client. The client uses only the global fetch, and replaces errors that are thrown there by its own. So the
// violations are collected here.
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  const response = await send(request)
  // A killed server cuts its response off. That is no response, so the reader's own read must fail.
  if (!isEventStream(response.headers)) await response.clone().text()
  try {
    return await conforming(request, response)
  } catch (violation) {
    violations.push(violation)
    throw violation
  }
}

afterEach(() => expect(violations.splice(0)).toEqual([]))
