/**
 * `start` of the package: what `npm start` is in a clone. It serves the build on this machine only, with a demo, the
 * test clock, and keys that it makes and keeps.
 */
import { completeDevVars, readVariables } from '../lib/dev-vars.mjs'
import { inHome, makeHome } from '../lib/project.mjs'
import { offerSignIn } from '../lib/sign-in.mjs'
import { welcomeTo } from '../lib/welcome.mjs'
import { beQuiet } from './log.mjs'

/**
 * @typedef {object} Demo
 * @property {Record<string, string>} variables that the Worker has beside those of the environment
 * @property {() => Promise<string>} welcome the text that is printed once the server serves
 */

/** Sets the variables of the server. @returns {Promise<Demo>} */
export async function makeDemo() {
  beQuiet(true)
  makeHome()
  const given = completeDevVars(inHome('.dev.vars'))
  const { variables, port, databases } = await readVariables(given, process.env)
  const { code, address } = await offerSignIn(variables.ADMIN_API_KEY ?? '')
  Object.assign(process.env, variables, {
    HOST: '127.0.0.1',
    PORT: `${port}`,
    DATABASES: `${databases}`,
  })
  const welcome = async () => {
    const text = await welcomeTo({ port, variables, code }, fetch)
    beQuiet(false)
    return text
  }
  return { variables: { CONSOLE_SIGN_IN: address }, welcome }
}
