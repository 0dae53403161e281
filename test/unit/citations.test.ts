import { describe, expect, it, test } from 'vitest'
import { citedIn } from '../citations'

const sections = new Set(['P', 'U', 'S', 'C', 'L'])
const inProgram = (text: string) => [...citedIn(text, { isMarkdown: false, sections })].sort()
const inDocument = (text: string) => [...citedIn(text, { isMarkdown: true, sections })].sort()

describe('a citation', () => {
  it.each([
    ['an award (P7)', ['P7']],
    ['final (L7, L8), in P12’s order', ['L7', 'L8', 'P12']],
    ['L1–L3, and C1: all', ['C1', 'L1', 'L3']],
    ['a rule of no section (X1)', ['X1']],
  ])('is found in %j', (text, cited) => {
    for (const comment of [`/** ${text} */`, `/*\n * ${text}\n */`, `run() // ${text}`]) {
      expect(inProgram(comment)).toEqual(cited)
    }
    expect(inDocument(text)).toEqual(cited)
  })

  it.each([
    'D1 is the database (D1), beside UTF-8, SHA-256 and an S3-like store',
    '2026-01-31T12:00Z, %C3%A9, U+FFFD, E2E, P1D, PT1H30M, X1, L0, P123, v1 and P1.5',
  ])('is not found in %j', (text) => {
    expect(inProgram(`/** ${text} */`)).toEqual([])
    expect(inDocument(text)).toEqual([])
  })

  it('is not found in code, unless it fills brackets', () => {
    const code = 'const P12 = ["S3", "L7"]\napp.use("/v1/*", U4)\nlist[P1](P2)\n'
    expect(inProgram(code)).toEqual([])
    expect(inProgram(`${code}it("[P7] refuses", () => {})\nconst WHY = "one clock (C1)"\n`)).toEqual([
      'C1',
      'P7',
    ])
    expect(inDocument('`P12` is code\n\n```js\nconst P13 = (P14)\n```\n')).toEqual([])
  })
})

test('a link to a rule is a citation', () => {
  expect(inDocument('It is refused ([P7](rules.md#p7)).')).toEqual(['P7'])
})
