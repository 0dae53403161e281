/** Starts the Worker on this machine. Its binding leads to a Laurel that runs here, such as that of `npm start`. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The admin key: that of `npm start`, if this folder is in Laurel's repository. */
function adminKey() {
  const file = join('..', '..', '.dev.vars')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return process.env.LAUREL_ADMIN_KEY ?? /^ADMIN_API_KEY=(.*)$/m.exec(text)?.[1]
}

const key = adminKey()
if (key === undefined) {
  console.error('Set LAUREL_ADMIN_KEY to an admin key of Laurel: `npm start` in its folder prints one.')
  process.exit(1)
}
const wrangler = join('node_modules', 'wrangler', 'bin', 'wrangler.js')
const configurations = ['--config', 'wrangler.toml', '--config', join('local', 'wrangler.toml')]
const args = [wrangler, 'dev', ...configurations, '--port', process.env.PORT ?? '4200']
const child = spawn(process.execPath, args, {
  stdio: 'inherit',
  env: {
    ...process.env,
    // What the two configurations name as secrets.
    LAUREL_ADMIN_KEY: key,
    LAUREL_URL: process.env.LAUREL_URL ?? 'http://localhost:8787',
    CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true',
  },
})
child.on('exit', (code) => process.exit(code ?? 1))
