/** Starts the Worker on this machine, beside the Laurel that `npm start` runs in its folder. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const laurel = resolve(process.env.LAUREL_FOLDER ?? join('..', '..'))

/** The admin key: that of `npm start`. */
function adminKey() {
  const file = join(laurel, '.dev.vars')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return process.env.LAUREL_ADMIN_KEY ?? /^ADMIN_API_KEY=(.*)$/m.exec(text)?.[1]
}

const key = adminKey()
if (key === undefined) {
  console.error(
    `Set LAUREL_FOLDER to Laurel's folder, and call \`npm start\` there first: ${laurel} has no keys.`,
  )
  process.exit(1)
}
const wrangler = join('node_modules', 'wrangler', 'bin', 'wrangler.js')
const child = spawn(process.execPath, [wrangler, 'dev', '--port', process.env.PORT ?? '4200'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    // The secret that wrangler.toml names.
    LAUREL_ADMIN_KEY: key,
    CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true',
    // Workers on this machine find each other in a folder. Laurel has one of its own.
    WRANGLER_REGISTRY_PATH: join(laurel, '.wrangler', 'registry'),
  },
})
child.on('exit', (code) => process.exit(code ?? 1))
