/** Commands: their options, questions to the person who calls them, and how they end. */
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { Complaint, report } from './project.mjs'

/** Runs a command, or prints its usage if that is asked for. If it fails, its error is printed, and the exit code is 1. */
export async function runCommand(/** @type {() => unknown} */ command, usage = '') {
  try {
    if (usage !== '' && process.argv.includes('--help')) process.stdout.write(`${usage}\n`)
    else await command()
  } catch (error) {
    report(error)
    process.exitCode ||= 1
  }
}

/**
 * The options of the command line, by their names: those with a text, and flags. With `takesNames`, all other words
 * are its `names`; else they are refused, as unknown options are, by a Complaint with the usage.
 *
 * @param {{ usage: string; texts?: readonly string[]; flags?: readonly string[]; takesNames?: boolean }} known
 * @param {string[]} [args]
 * @returns {any}
 */
export function readOptions({ usage, texts = [], flags = [], takesNames = false }, args) {
  const ofType = (/** @type {readonly string[]} */ names, /** @type {'string' | 'boolean'} */ type) =>
    Object.fromEntries(names.map((name) => [name, { type }]))
  try {
    const options = { ...ofType(texts, 'string'), ...ofType(flags, 'boolean') }
    const { values, positionals } = parseArgs({ args, options, allowPositionals: takesNames })
    return takesNames ? { ...values, names: positionals } : values
  } catch (error) {
    throw new Complaint(`${Object(error).message}\n${usage}`)
  }
}

/** A whole number that an option names. */
export function wholeOf(
  /** @type {string} */ name,
  /** @type {string | undefined} */ text,
  least = 1,
  most = 1e9,
) {
  const number = Number(text)
  if (text !== '' && Number.isInteger(number) && number >= least && number <= most) return number
  throw new Complaint(`--${name} must be a whole number from ${least} to ${most}, not ${text}.`)
}

/** Asks a question and returns the answer. Without a terminal, returns undefined. Throws a Complaint after Ctrl-C. */
export async function answerTo(/** @type {string} */ question) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await lines.question(question)).trim()
  } catch {
    throw new Complaint('\nThis was stopped. Nothing was changed.')
  } finally {
    lines.close()
  }
}
