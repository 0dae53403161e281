/** Laurel under `npm run serve`, as the second column of the comparison. */
import { once } from 'node:events'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { OURS } from '../lib/project.mjs'
import { ask } from '../lib/server.mjs'
import { newRuns, Runs } from './runs.mjs'

/** A server by `npm run serve`, with a copy of the project and data of its own. */
export class Serve extends Runs {
  /**
   * Copies the project, and builds what the server runs.
   *
   * @param {string} folder
   * @param {Record<string, string>} variables of the Worker
   */
  static async create(folder, variables) {
    mkdirSync(folder)
    for (const name of [...OURS, 'scripts']) cpSync(inProject(name), join(folder, name), { recursive: true })
    symlinkSync(inProject('node_modules'), join(folder, 'node_modules'), 'dir')
    const serve = new Serve({ folder, variables, ...(await newRuns()) })
    await serve.#build()
    return serve
  }

  /**
   * @param {import('./runs.mjs').NewRuns & { folder: string; variables: Record<string, string> }} how use
   *   {@link Serve.create}
   */
  constructor({ variables, ...more }) {
    super(more)
    this.variables = variables
  }

  async #build() {
    const [code] = await once(this.#run('build'), 'exit')
    if (code !== 0) throw new Complaint(`npm run serve does not build in ${this.folder}.`)
    await this.stop()
  }

  /** Starts it and waits until it responds. Throws a Complaint with its output. */
  async start() {
    this.#run('--built')
    await this.ready()
  }

  /** Sends a request as JSON; see `ask` in server.mjs. */
  ask(
    /** @type {string} */ method,
    /** @type {string} */ path,
    /** @type {import('../lib/server.mjs').Asked} */ options,
  ) {
    return ask(`http://127.0.0.1:${this.port}`, method, path, options)
  }

  #run(/** @type {string} */ command) {
    return this.runNode(join(this.folder, 'scripts', 'serve.mjs'), {
      args: [command],
      variables: {
        ...this.variables,
        PORT: String(this.port),
        HOST: '127.0.0.1',
        LAUREL_DATA: join(this.folder, 'data'),
      },
    })
  }
}
