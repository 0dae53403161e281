/** `npm run undeploy`: deletes a deployment from the account, with all its data. Each run goes on after the one before. */
import { rmSync } from 'node:fs'
import { answerTo, readOptions, runCommand } from './lib/command.mjs'
import { findDeployment, KINDS } from './lib/deployment.mjs'
import { Complaint, commandOf } from './lib/project.mjs'

const USAGE = `${commandOf('undeploy', '[OPTIONS]')}
Says what it would delete, asks for the name, and deletes.
  --name NAME     the deployment of this name
  --confirm NAME  does not ask`

async function undeploy() {
  const { name, confirm } = readOptions({ usage: USAGE, texts: ['name', 'confirm'] })
  const deployment = await findDeployment(name)
  const { account, config, domains, parts, worker } = deployment
  const existing = parts.filter(({ id }) => id !== undefined)
  const lines = [
    ...domains.map(({ hostname }) => `domain ${hostname}`),
    ...(worker === undefined ? [] : [`Worker ${config.name}, with its objects and secrets`]),
    ...existing.map(({ kind, name: part }) => `${kind} ${part}`),
  ]
  if (lines.length === 0) {
    process.stdout.write(`The account has nothing of ${config.name}.\n`)
    return
  }
  process.stdout.write(
    `This deletes, in the account ${account.id}:\n${lines.map((line) => `  ${line}\n`).join('')}All users, events and keys of this deployment are lost, and nothing brings them back.\n`,
  )
  const answer = confirm ?? (await answerTo(`\nType the name ${config.name} to delete all of it: `))
  if (answer === undefined)
    throw new Complaint(`Add --confirm ${config.name} to delete all of it. Nothing was changed.`)
  if (answer !== config.name) throw new Complaint(`The name is ${config.name}. Nothing was changed.`)
  const remove = (/** @type {string} */ path, query = {}) => account.ask(path, { method: 'DELETE', query })
  for (const { id } of domains) await remove(`/workers/domains/${id}`)
  // A Worker that reads a queue can't be deleted before.
  for (const { kind, id } of existing)
    if (kind === 'queue')
      for (const { consumer_id: consumer } of await account.list(`/queues/${id}/consumers`))
        await remove(`/queues/${id}/consumers/${consumer}`)
  if (worker !== undefined) await remove(`/workers/scripts/${config.name}`, { force: 'true' })
  // The databases last: by their names the next run finds what is left.
  for (const { kind, name: part, id } of existing.toReversed()) {
    await remove(`${KINDS[kind].path}/${id}`)
    process.stdout.write(`Deleted the ${kind} ${part}.\n`)
  }
  rmSync(deployment.fileOf('secrets'), { force: true })
  process.stdout.write(`${config.name} is deleted.\n`)
}

runCommand(undeploy, USAGE)
