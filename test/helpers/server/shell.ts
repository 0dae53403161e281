/** A shell for the commands of a page, and a proxy that records their requests to a server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listening, stop } from '../listening'
import { PATIENCE } from '../patience'
import type { Variables } from './examples'
import { descendants, type Process } from './processes'

/** The outcome of a block's commands: the exit status of the last one, and all output. */
export type Outcome = { code: number; stdout: string; stderr: string }

/**
 * One shell, as a reader has it who pastes commands. Variables that one command sets exist for the next ones.
 * Nothing is exported unless the commands export it.
 */
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

  /** The running processes that its commands started. */
  started(): Process[] {
    const own = this.#bash.pid ?? 0
    return descendants(own).filter(({ id }) => id !== own)
  }

  /** Runs commands as if a reader pasted them. Throws if they take too long. */
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

  /** The values of the variables that are set. */
  async read(names: readonly string[]): Promise<Variables> {
    const { stdout } = await this.run(
      names.map((name) => `[ -v ${name} ] && echo "${name}=$${name}"`).join('\n'),
    )
    return new Map(
      [...stdout.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
  }

  /** Sets variables, as a page asks its reader to. */
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

/** A request that went through the proxy, with its body as JSON, if it has one, and the response. */
export type Exchange = {
  request: string
  sent: unknown
  status: number
  headers: Record<string, string>
  body: unknown
}

/** A proxy before a server that records responses. */
export type RecordingProxy = {
  port: number
  /** The tenant of the requests. Null if the requests name it themselves, or if there are no tenants. */
  tenant: string | null
  /** The responses since the last call of this method, in order. */
  take(): Exchange[]
  close(): void
}

export async function startProxy(target: () => number): Promise<RecordingProxy> {
  const exchanges: Exchange[] = []
  const server = createServer((incoming, pending) => {
    const headers = {
      ...incoming.headers,
      // A compressed response could not be read.
      'accept-encoding': 'identity',
      ...(proxy.tenant !== null && { 'tenant-id': proxy.tenant }),
    }
    const { method, url: path } = incoming
    let sent = ''
    incoming.on('data', (part) => (sent += part))
    const onward = request({ host: '127.0.0.1', port: target(), method, path, headers }, (answer) => {
      const { statusCode: status = 502, headers: came } = answer
      pending.writeHead(status, came)
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
        pending.write(part)
      })
      answer.on('error', end)
      answer.on('end', () => {
        const flat = Object.entries(came).map(([name, value]) => [name, String(value)])
        exchanges.push({
          ...{ request: `${method} ${path}`, status, headers: Object.fromEntries(flat) },
          sent: /^[{[]/.test(sent) ? JSON.parse(sent) : undefined,
          body: came['content-type']?.includes('json') === true ? JSON.parse(text) : text,
        })
        // The caller may take the exchange as soon as the response has ended.
        pending.end()
      })
    })
    // A stream ends if one of its two sides goes away.
    const end = () => pending.destroy()
    onward.on('error', end)
    pending.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  const { port } = new URL(await listening(server))
  const proxy: RecordingProxy = {
    port: Number(port),
    tenant: null,
    take: () => exchanges.splice(0),
    close: () => stop(server),
  }
  return proxy
}
