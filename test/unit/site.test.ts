import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { complaintsAbout } from '../../site/check.mjs'
import { documents, groupsOfPages, outsideCode, textOfPage } from '../../site/pages.mjs'
import { curlOf, filledIn, pythonOf, requestOf } from '../../site/samples.mjs'

test('the check of the site finds dead links, dead anchors, and pages without a way there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-site-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'guides'))
  const pages = {
    'index.html':
      '<a href="/x/guides/a#one">A</a><a href="/x/gone">Gone</a><a href="https://example.com/">Other</a>',
    'guides/a.html':
      '<h2 id="one">One</h2><a class="b" href="/x/">Back</a><a href="#two">Two</a><img src="/x/no.png">',
    'lost.html': '<p>Nobody comes here.</p>',
    '404.html': '',
  }
  for (const [name, html] of Object.entries(pages)) writeFileSync(join(folder, name), html)
  expect(complaintsAbout(folder, '/x/')).toEqual([
    ': nothing at /x/gone',
    'guides/a: no heading at #two',
    'guides/a: nothing at /x/no.png',
    'lost: no link leads to this page',
  ])
})

test('the site has every page of the index, in its groups', () => {
  const groups = groupsOfPages()
  expect(groups.map(({ title }) => title)).toContain('API by task')
  expect(groups.filter(({ pages }) => pages.length === 0)).toEqual([])
})

test('links of a document lead to pages of the site, and code stays as it is', () => {
  const pages = documents()
  const textOf = (source: string) => textOfPage(source, pages, new Map())
  expect(textOf('docs/guides/react.md')).toContain('](/clients/react)')
  expect(textOf('docs/self-hosting.md')).toContain('[`npx @laurel/cli`](/cli)')
  const left = pages.filter(({ source }) => /\]\((?!https:)[^)\s]*\.md[)#]/.test(textOf(source)))
  expect(left).toEqual([])
  expect(outsideCode('[a](b) `[a](b)`\n```js\n[a](b)\n```', () => 'x')).toBe('x`[a](b)`x```js\n[a](b)\n```x')
})

test('samples send the example of an operation, with keys for ids of the demo', () => {
  const today = Date.UTC(2026, 5, 3)
  const example = [
    { id: 'demo:metrics:demo-lessons', on: 'demo:day:1', trigger: 'demo:trigger:active', its: "it's" },
  ]
  expect(filledIn({ ids: ['demo:metrics:a'], metricId: 'demo:metrics:a' }, today)).toEqual({
    keys: ['a'],
    metricKey: 'a',
  })
  const request = requestOf(
    '/v1',
    '/things/{id}',
    'patch',
    {
      operationId: 'things_update',
      parameters: [
        { in: 'path', name: 'id', example: 'a/b' },
        { in: 'query', name: 'all', example: true },
      ],
      requestBody: { content: { 'application/json': { example } } },
    },
    today,
  )
  const id = '01900000-0000-7000-8000-000000000000'
  expect(request.body).toEqual([{ key: 'demo-lessons', on: '2026-06-04', trigger: id, its: "it's" }])
  expect(curlOf(request)).toContain(`curl -sS -X PATCH "$URL/v1/things/a%2Fb?all=true"`)
  expect(curlOf(request)).toContain(`"it'\\''s"`)
  expect(pythonOf(request)).toContain('params={"all": "true"}')
})
