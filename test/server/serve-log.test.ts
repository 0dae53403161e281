/** The log of `npm run serve`: each line is JSON, and nobody has to read it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

const LOG = pathToFileURL('scripts/serve/log.mjs')

/** A server that serves, and whose workerd is a script of the shell. It ends after all is passed on. */
const serveWith = (script: string) =>
  spawn(process.execPath, [
    ...['--input-type=module', '--eval'],
    `import { spawn } from 'node:child_process'
    import { follow, say, sayServing, written } from '${LOG}'
    say('starting: in plain words')
    sayServing('Laurel serves.')
    const workerd = spawn('sh', ['-c', process.argv[1]], { stdio: ['ignore', 'pipe', 'pipe'] })
    await follow(workerd)
    say('nothing more')
    await written(1000)
    process.exit(3)`,
    script,
  ])

const linesOf = (all: string) => all.trimEnd().split('\n')

test('from the first moment each line is JSON, those of workerd too, and none is lost', async () => {
  const server = serveWith(`
    echo '{"level":"info","requestId":"a"}'
    printf 'no \\\\n"JSON"\\n\\n'
    echo 'server.c++:7: warning: a fact' >&2
    printf 'kj: error: Fatal\\n{"level": half' >&2`)
  const [out, error] = await Promise.all([text(server.stdout), text(server.stderr)])
  expect(linesOf(out).slice(0, 2)).toEqual(['Laurel serves.', '{"level":"info","requestId":"a"}'])
  expect(
    linesOf(out)
      .slice(2)
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { level: 'info', error: 'no \\n"JSON"' },
    { level: 'info', error: '' },
  ])
  expect(linesOf(error)[0]).toBe('starting: in plain words')
  expect(
    linesOf(error)
      .slice(1)
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { level: 'warn', error: 'server.c++:7: warning: a fact' },
    { level: 'error', error: 'kj: error: Fatal' },
    { level: 'error', error: '{"level": half' },
    { level: 'warn', error: 'nothing more' },
  ])
})

test('a log that nobody reads does not hold up workerd, and says later how much is lost', async () => {
  const server = serveWith(`
    for n in $(seq 5000); do printf '{"n":%4096s}\\n' $n; done
    echo done >&2; sleep 0.3; echo '{"last":1}'; sleep 0.3; echo '{"last":2}'`)
  server.stderr.setEncoding('utf8')
  for (let said = ''; !said.includes('done'); ) said += String((await once(server.stderr, 'data'))[0])
  const lines = linesOf(await text(server.stdout))
  const gap = lines.map((line) => /"warn","error":"(\d+) lines of the log were lost/.exec(line)?.[1])
  const lost = Number(gap.find((count) => count !== undefined))
  expect(lost).toBeGreaterThan(0)
  expect(lines.filter((line) => line.startsWith('{"n":')).length + lost).toBeGreaterThanOrEqual(5000)
  expect(lines.at(-1)).toBe('{"last":2}')
})

test('a log whose reader has gone does not end the server', async () => {
  const server = serveWith('sleep 0.2; echo one; sleep 0.2; echo two; echo three >&2')
  server.stdout.destroy()
  server.stderr.destroy()
  expect(await once(server, 'exit')).toEqual([3, null])
})
