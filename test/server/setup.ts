import { afterEach, expect } from 'vitest'
import { conforming } from '../conformance'

const send = globalThis.fetch
const violations: unknown[] = []

// Every answer of a server that a test starts is held to the contract, those to the npm client among them: it takes no other
// fetch than the global one, and makes an error of its own of whatever is thrown there. Therefore they are gathered.
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  const response = await send(request)
  // An answer that is cut off, by a server that is killed, is none: it fails as it would for whoever reads it.
  await response.clone().text()
  try {
    return await conforming(request, response)
  } catch (violation) {
    violations.push(violation)
    throw violation
  }
}

afterEach(() => expect(violations.splice(0)).toEqual([]))
