import { expect, test } from 'vitest'
import { rawPath } from '../../src/http/path'

test('[G1, G2] routes are matched on the path as it came', () => {
  const paths = {
    'http://localhost:8787': '/',
    'http://localhost:8787/': '/',
    'https://laurel.example.com/v1/users/a%2Fb?x=/y#z': '/v1/users/a%2Fb',
    'https://laurel.example.com/v1#?': '/v1',
    'https://laurel.example.com//v1//users': '//v1//users',
    // A run time that hands a backslash on has no route for it.
    'https://laurel.example.com/v1\\users/ada': '/v1\\users/ada',
    // The same holds for dot segments, which most URL parsers resolve before that.
    'https://laurel.example.com/v1/./users': '/v1/./users',
    'https://laurel.example.com/v1/x/%2e%2e/users': '/v1/x/%2e%2e/users',
  }
  for (const [url, path] of Object.entries(paths)) expect(rawPath(url)).toBe(path)
})
