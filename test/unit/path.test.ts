import { expect, test } from 'vitest'
import { rawPath } from '../../src/api/paths'

test('[G1, G2] routes match the path as it was sent', () => {
  const paths = {
    'http://localhost:8787': '/',
    'http://localhost:8787/': '/',
    'https://laurel.example.com/v1/users/a%2Fb?x=/y#z': '/v1/users/a%2Fb',
    'https://laurel.example.com/v1#?': '/v1',
    'https://laurel.example.com//v1//users': '//v1//users',
    // If a runtime passes a backslash on, no route matches.
    'https://laurel.example.com/v1\\users/ada': '/v1\\users/ada',
    // The same applies to dot segments, which most URL parsers resolve before.
    'https://laurel.example.com/v1/./users': '/v1/./users',
    'https://laurel.example.com/v1/x/%2e%2e/users': '/v1/x/%2e%2e/users',
  }
  for (const [url, path] of Object.entries(paths)) expect(rawPath(url)).toBe(path)
})
