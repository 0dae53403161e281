import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sentence, sentenceAbout } from '../../console/src/api/words'

const LITERAL = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g

/** All texts of some sources that may be messages. What a template puts in is `x`. */
const textsOf = (files: readonly string[]): string[] =>
  files
    .flatMap(
      (file) =>
        readFileSync(file, 'utf8')
          .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
          .match(LITERAL) ?? [],
    )
    .map((text) => text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, 'x'))
    // A message has words, and no line break.
    .filter((text) => /[a-z]+ [a-z]+/.test(text) && !text.includes('\n'))

/** The errors of the interface and of the client. */
const ERRORS = textsOf(
  globSync(['src/**/*.ts', 'clients/typescript/src/**/*.ts']).filter(
    (file) => !/\.(?:reference|sql)\.ts$|generated|webhooks\.ts$/.test(file),
  ),
)

/** Requests, paths, headers and names of fields: nobody who looks at a page knows them. */
const TECHNICAL =
  /\b(?:GET|POST|PUT|PATCH|DELETE) |\/(?:admin\/)?v1\b|\bheader|base URL|X-API-KEY|Tenant-ID|\b[a-z]+(?:Id|Ids|Key|Attributes)\b/

/** Without texts in quotes, which are values. */
const unquoted = (text: string) => text.replaceAll(/"[^"]*"|“[^”]*”/g, '')

describe('texts of errors in the console', () => {
  it('have words for people, whatever the interface answers', () => {
    expect(ERRORS.length).toBeGreaterThan(500)
    expect(ERRORS.filter((text) => TECHNICAL.test(text)).length).toBeGreaterThan(20)
    const shown = ERRORS.flatMap((text) => [
      sentence(text),
      sentenceAbout('0.eventAttributes.2.attributeId', text),
    ])
    expect(shown.filter((text) => TECHNICAL.test(unquoted(text)))).toEqual([])
    expect(shown.filter((text) => !/^[^a-z].*[.!?]$/s.test(text))).toEqual([])
  })

  it('are not in the words of the interface in the console itself', () => {
    const own = textsOf(globSync('console/src/**/*.{ts,tsx}'))
    expect(own.filter((text) => /\b(?:GET|PATCH|PUT) \/|base URL/.test(text))).toEqual([])
  })

  it.each([
    ['No metric has this metricId. Take one from GET /metrics.', 'No metric has this metric id.'],
    [
      'achievementIds: no achievement has the id 4. Take the ids from GET /achievements.',
      'No achievement has the id 4.',
    ],
    ['is taken by another metric', 'Is taken by another metric.'],
    ['no metric has the key "metricId"', 'No metric has the key "metricId".'],
    ['Use 2.5 at most. See GET /points.', 'Use 2.5 at most.'],
    ['This path does not exist. All paths are listed at /docs.', 'This path does not exist.'],
    [
      'The API key is not valid. Check the X-API-KEY header, or create a new key with an admin key.',
      'The API key is not valid.',
    ],
  ])('%s becomes %s', (message, shown) => {
    expect(sentence(message)).toBe(shown)
  })

  it('begin with the field if it has no place in the form', () => {
    expect(sentenceAbout('0.eventAttributes.1.attributeId', 'must be a text')).toBe(
      'Attribute id must be a text.',
    )
  })
})
