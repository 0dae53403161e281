#!/usr/bin/env node
/** The command `laurel`: a table of scripts that a clone of Laurel calls by `npm run`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Each command: what it does, the script that it calls, and the first arguments of the script. */
const COMMANDS = {
  start: ['runs Laurel here with a demo, to try it', 'serve', 'start'],
  serve: ['runs Laurel here for real use', 'serve', 'serve'],
  backup: ['writes all data that is here to a new file', 'serve', 'backup'],
  restore: ['brings a backup back into an empty folder', 'serve', 'restore'],
  deploy: ['puts Laurel on your Cloudflare account, or its next version', 'deploy'],
  undeploy: ['deletes it there, with all data', 'undeploy'],
  restored: ['tells it that its database was brought back to an earlier moment', 'restored'],
  wrangler: ['runs wrangler, such as `wrangler login`', 'tool', 'wrangler/bin/wrangler.js'],
}

const HELP = `npx @laurel/cli COMMAND

${Object.entries(COMMANDS)
  .map(([name, [does]]) => `  ${name.padEnd(10)}${does}\n`)
  .join('')}
COMMAND --help says more. Data is in the folder .laurel of the folder in which you are.
`

function main([name = '--help', ...args]) {
  if (name === '--help' || name === 'help') return process.stdout.write(HELP)
  if (name === '--version') {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    return process.stdout.write(`${manifest.version}\n`)
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    process.exitCode = 1
    return process.stderr.write(`There is no command ${name}.\n\n${HELP}`)
  }
  const [, script, ...first] = COMMANDS[name]
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...first, ...args)
  process.env.LAUREL_DATA ||= join('.laurel', 'data')
  // Files are those of the folder in which one is, also if a script of an app calls this.
  process.env.INIT_CWD = process.cwd()
  return import(`../scripts/${script}.mjs`)
}

await main(process.argv.slice(2))
