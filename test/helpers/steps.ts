/**
 * Counts the steps of code. The number is the same on every machine, however busy it is.
 *
 * A step is one run of a block of JavaScript, as the engine's precise coverage counts them, or one character
 * that a built-in function of strings or regular expressions reads. Characters that a regular expression
 * reads again when it backtracks are not counted: `redos.test.ts` checks the expressions for that.
 */
import { type Profiler, Session } from 'node:inspector'

/** Functions of String that read the text up to the match. */
const SEARCHES = ['indexOf', 'includes'] as const
/** Functions of String that read the whole text. */
const READS = [
  'toLowerCase',
  'toUpperCase',
  'trim',
  'trimStart',
  'trimEnd',
  'isWellFormed',
  'toWellFormed',
] as const

/**
 * Starts to count. Only code that is loaded after this call is counted block by block, so import it after the
 * call. One counter serves a whole file of tests.
 */
export function stepCounter(): { stepsOf(work: () => unknown): number } {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  /** Runs of blocks since the last call. */
  const blocks = () => {
    let runs = 0
    session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      if (error !== null) throw error
      runs = runsOf(coverage.result)
    })
    return runs
  }
  return {
    /**
     * The number of steps that `work` takes. Errors that it throws are ignored, because refusing a text also
     * reads it.
     */
    stepsOf(work) {
      const characters = countCharacters()
      blocks()
      tried(work)
      characters.stop()
      return blocks() + characters.read()
    },
  }
}

/** Does work whose errors are ignored: it refused its text. */
export function tried(work: () => unknown): void {
  try {
    work()
  } catch {
    // The text was refused.
  }
}

const runsOf = (scripts: readonly Profiler.ScriptCoverage[]): number =>
  scripts
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0)

/** Replaces built-in functions by functions that count the characters that they read, until it is stopped. */
function countCharacters(): { read(): number; stop(): void } {
  let characters = 0
  const restore: (() => void)[] = []
  const replace = (holder: object, name: string, counting: (original: Builtin) => Builtin) => {
    const before = Object.getOwnPropertyDescriptor(holder, name)
    const original: unknown = before?.value
    if (before === undefined || !isBuiltin(original)) throw new Error(`There is no function ${name}.`)
    Object.defineProperty(holder, name, { ...before, value: counting(original) })
    restore.push(() => Object.defineProperty(holder, name, before))
  }
  for (const name of READS) {
    replace(
      String.prototype,
      name,
      (original) =>
        function (this: unknown, ...given) {
          characters += String(this).length
          return Reflect.apply(original, this, given)
        },
    )
  }
  const position = String.prototype.indexOf
  for (const name of SEARCHES) {
    replace(
      String.prototype,
      name,
      (original) =>
        function (this: unknown, ...given) {
          const text = String(this)
          const from = Number(given[1] ?? 0)
          const at = Reflect.apply(position, text, [given[0], from])
          characters += Math.max(0, (at === -1 ? text.length : at) - from)
          return Reflect.apply(original, this, given)
        },
    )
  }
  // Once it is replaced, the engine calls it for every other function that takes a regular expression.
  replace(
    RegExp.prototype,
    'exec',
    (original) =>
      function (this: unknown, ...given) {
        if (!(this instanceof RegExp)) throw new TypeError('Not a regular expression.')
        const from = this.global || this.sticky ? this.lastIndex : 0
        const found: unknown = Reflect.apply(original, this, given)
        const end = isMatch(found) ? found.index + found[0].length : String(given[0]).length
        characters += this.sticky && found === null ? 1 : end - from
        return found
      },
  )
  return {
    read: () => characters,
    stop() {
      for (const put of restore) put()
    },
  }
}

type Builtin = (this: unknown, ...given: unknown[]) => unknown

const isBuiltin = (value: unknown): value is Builtin => typeof value === 'function'

const isMatch = (value: unknown): value is RegExpExecArray => Array.isArray(value)
