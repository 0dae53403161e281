import { describe, expect, it, test } from 'vitest'
import { citedByTests, citedIn, misnamed } from '../helpers/citations'

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

describe('the name of a test', () => {
  it('cites rules in brackets', () => {
    const text = "it('[P7] refuses', f)\n  test.each(all)(`[L7, L8] %s`, f)\nlist['[S1]']\n// [C1] is none"
    expect([...citedByTests(text)].sort()).toEqual(['L7', 'L8', 'P7'])
    expect(misnamed(text)).toEqual([])
  })

  it.each([
    "it('P7: refuses', f)",
    "  'L7, L8: a case': 1,",
    'describe.each(all)(`W2–W4: one`, f)',
    "test('refuses (P7)', f)",
    "  describe('boards (L1, L2), and more', f)",
  ])('is reported if it cites them in another form: %s', (line) => {
    expect(misnamed(`const a = 1\n${line}\n`)).toHaveLength(1)
  })

  it.each(["const why = 'one clock (C1)'", "it('waits (at most 5 s)', f)", "it('ends at 12: noon', f)"])(
    'is not reported otherwise: %s',
    (line) => {
      expect(misnamed(line)).toEqual([])
    },
  )
})
