import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { launch, newProject, run, startServer } from '../../helpers/server/harness'
import { descendants } from '../../helpers/server/processes'
import { until } from '../../helpers/until'

describe('a start that does not succeed', () => {
  test('SIGTERM while it builds, twice, ends everything', async () => {
    const folder = await newProject()
    await rm(join(folder, 'dist'), { recursive: true })
    const starting = await launch({ folder })
    await starting.printed(/Building Laurel/)
    await until(() => descendants(starting.pid).length > 2)
    const ending = starting.stop()
    starting.child.kill('SIGTERM')
    expect(await ending).toMatchObject({ code: 0, leftovers: [] })
  })

  test('two starts in one folder build once, also after a build that was killed', async () => {
    const folder = await newProject()
    await rm(join(folder, 'dist'), { recursive: true })
    const killed = await launch({ folder, ownGroup: true })
    await killed.printed(/Building Laurel/)
    await killed.kill()
    const starts = ['one', 'two'].map((data) => launch({ folder, env: { LAUREL_DATA: join(folder, data) } }))
    const both = await Promise.all(starts)
    for (const one of both) await one.printed(/Laurel is ready/)
    const builds = both.filter(({ output }) => output().includes('Building Laurel'))
    for (const one of both) expect(await one.stop()).toMatchObject({ code: 0, leftovers: [] })
    expect(builds).toHaveLength(1)
  })

  test('an old Node is told which one is needed', async () => {
    const old =
      "data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '18.19.1' } })"
    const script = join(import.meta.dirname, '../../../scripts/serve.mjs')
    const { code, said } = await run('.', [process.execPath, '--import', old, script, '--help'])
    expect([code, said]).toEqual([1, 'Laurel needs Node 20.12 or later. This is Node 18.19.1.\n'])
  })

  test('a failed migration stops the start, with its reason', async () => {
    const folder = await newProject()
    await appendFile(join(folder, 'migrations', '9999_broken.sql'), 'CREATE TABEL nothing;')
    const starting = await launch({ folder })
    expect(await starting.ended(), starting.output()).toMatchObject({ code: 1, leftovers: [] })
    expect(starting.output()).toContain('TABEL')
    expect(starting.output()).toContain('The migration 9999_broken.sql failed')
  })

  test('a console that cannot be built does not stop the start: the reason is printed, and the page says so', async () => {
    const folder = await newProject()
    await appendFile(join(folder, 'console', 'src', 'main.tsx'), "\nimport 'no-such-package'\n")
    const server = await startServer({ folder })
    expect(server.output()).toContain('no-such-package')
    expect(server.output()).toMatch(
      /The console could not be built\. .*npm install.* if its path has a # or \?\./,
    )
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/console`)).text()).toContain('The console could not be built')
    expect(await server.stop()).toMatchObject({ code: 0, leftovers: [] })
  })
})
