/** A shell into which the commands of a page are pasted, and a proxy that sees what they ask a server for. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PATIENCE } from '../patience'
import type { Variables } from './examples'
import { descendants, type Process } from './processes'

/** What the commands of a block came to: the exit status of the last one, and all that they printed. */
export type Outcome = { code: number; stdout: string; stderr: string }

/** One shell, as somebody has it who pastes commands: what one sets the next ones find, and nothing is exported that they don't export. */
export class Shell {
  readonly #folder: string
  readonly #bash: ChildProcess
  #stdout = ''
  #stderr = ''
  #blocks = 0

  constructor(folder: string, environment: Record<string, string>) {
    this.#folder = folder
    this.#bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: folder, ...environment },
    })
    this.#bash.stdout?.on('data', (part) => (this.#stdout += part))
    this.#bash.stderr?.on('data', (part) => (this.#stderr += part))
  }

  /** The processes that its commands have started and that still run. */
  started(): Process[] {
    const own = this.#bash.pid ?? 0
    return descendants(own).filter(({ id }) => id !== own)
  }

  /** Runs commands as if they had been pasted. Throws if they take too long. */
  async run(commands: string): Promise<Outcome> {
    this.#blocks += 1
    const file = join(this.#folder, '.pasted')
    const end = `--- end of block ${this.#blocks}: `
    await writeFile(file, commands)
    this.#stdout = ''
    this.#stderr = ''
    this.#bash.stdin?.write(`. ./.pasted < /dev/null; echo "${end}$?"\n`)
    const deadline = performance.now() + PATIENCE
    for (;;) {
      const [before, after] = this.#stdout.split(end)
      if (after?.endsWith('\n')) return { code: Number(after), stdout: before ?? '', stderr: this.#stderr }
      if (performance.now() > deadline || this.#bash.exitCode !== null) {
        throw new Error(`no end of:\n${commands}\n${this.#stdout}${this.#stderr}`)
      }
      await sleep(5)
    }
  }

  /** Those of the variables that are set. */
  async read(names: readonly string[]): Promise<Variables> {
    const { stdout } = await this.run(
      names.map((name) => `[ -v ${name} ] && echo "${name}=$${name}"`).join('\n'),
    )
    return new Map(
      [...stdout.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
  }

  /** Sets variables, as a reader does who is told to. */
  async set(variables: Variables): Promise<void> {
    for (const [name, value] of variables) await this.run(`${name}='${value}'`)
  }

  /** Ends the shell. */
  async end(): Promise<void> {
    const closed = once(this.#bash, 'exit')
    this.#bash.stdin?.end()
    await closed
  }
}

/** An answer that went through the proxy. */
export type Exchange = { request: string; status: number; headers: Record<string, string>; body: unknown }

/** Stands before a server, and notes what it answers. */
export type RecordingProxy = {
  port: number
  /** The tenant that requests are for; null if they say so themselves, or there are none. */
  tenant: string | null
  /** What was answered since this was asked for last, in order. */
  take(): Exchange[]
  close(): Promise<void>
}

/** Starts a proxy on a port. */
export async function startProxy(port: number, target: () => number): Promise<RecordingProxy> {
  const exchanges: Exchange[] = []
  const server = createServer((incoming, drainRequests) => {
    const headers = {
      ...incoming.headers,
      // What is compressed could not be read.
      'accept-encoding': 'identity',
      ...(proxy.tenant !== null && { 'tenant-id': proxy.tenant }),
    }
    const { method, url: path } = incoming
    const onward = request({ host: '127.0.0.1', port: target(), method, path, headers }, (answer) =>
      passOn(answer, drainRequests).then((text) => {
        exchanges.push({ ...read(answer, text), request: `${method} ${path}` })
        // Whoever asked may ask for the exchange as soon as the answer has ended.
        drainRequests.end()
      }),
    )
    onward.on('error', () => drainRequests.destroy())
    incoming.pipe(onward)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const proxy: RecordingProxy = {
    port,
    tenant: null,
    take: () => exchanges.splice(0),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}

/** Sends an answer on, all but its end, and reads its body. */
async function passOn(answer: IncomingMessage, drainRequests: ServerResponse): Promise<string> {
  drainRequests.writeHead(answer.statusCode ?? 502, answer.headers)
  let text = ''
  for await (const part of answer.setEncoding('utf8')) {
    text += part
    drainRequests.write(part)
  }
  return text
}

function read({ statusCode = 0, headers }: IncomingMessage, text: string): Omit<Exchange, 'request'> {
  const isJson = headers['content-type']?.includes('json') === true
  const flat = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return { status: statusCode, headers: Object.fromEntries(flat), body: isJson ? JSON.parse(text) : text }
}
