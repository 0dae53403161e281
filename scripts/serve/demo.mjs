/**
 * `npm start`, which is `npx @laurel/cli start` without a clone: it serves on this machine only, with a demo, the test
 * clock, and keys that it makes and keeps.
 */
import { completeDevVars, readVariables } from '../lib/dev-vars.mjs'
import { inHome, inProject, isPackage, makeHome } from '../lib/project.mjs'
import { offerSignIn } from '../lib/sign-in.mjs'
import { welcomeTo } from '../lib/welcome.mjs'
import { beQuiet, hide } from './log.mjs'

/**
 * @typedef {object} Demo
 * @property {Record<string, string>} variables that the Worker has beside those of the environment
 * @property {() => Promise<string>} welcome the text that is printed once the server serves
 */

/** Sets the variables of the server. `env` is what the Worker says of them. @returns {Promise<Demo>} */
export async function makeDemo(/** @type {any} */ env) {
  beQuiet(true)
  if (isPackage) makeHome()
  // Apart from the data of `npm run serve`.
  else process.env.LAUREL_DATA ||= inProject('.laurel', 'data')
  const given = completeDevVars(isPackage ? inHome('.dev.vars') : inProject('.dev.vars'))
  const { variables, port, databases } = await readVariables(given, process.env, env)
  const { code, address } = await offerSignIn(variables.ADMIN_API_KEY ?? '')
  Object.assign(process.env, variables, {
    HOST: '127.0.0.1',
    PORT: `${port}`,
    DATABASES: `${databases}`,
  })
  const welcome = async () => {
    const text = await welcomeTo({ port, variables, code }, async (input, init) => {
      const answer = await fetch(input, init)
      hide(answer.headers.get('x-request-id') ?? '')
      return answer
    })
    beQuiet(false)
    return text
  }
  return { variables: { CONSOLE_SIGN_IN: address }, welcome }
}
