/** Receives webhooks of Laurel: checks who sent them, keeps each one once, answers at once, and works afterwards. */
import { createServer } from 'node:http'
import { LaurelError, verifyWebhook } from '@laurel/client'
import { Inbox } from './inbox.js'
import { register } from './register.js'

/** The longest body that is read, in bytes. Those of Laurel are much shorter. */
const LONGEST = 1_000_000

const port = Number(process.env.PORT ?? 4000)
const inbox = new Inbox(process.env.INBOX ?? 'received.jsonl')
let secret = process.env.WEBHOOK_SECRET

/** What your product does with an event. It runs after the answer, so it may take its time. */
async function work({ type, user }) {
  console.log(`${type} of ${user?.name ?? user?.id ?? 'nobody'}`)
}

async function bodyOf(request) {
  const parts = []
  let length = 0
  for await (const part of request) {
    parts.push(part)
    length += part.length
    if (length > LONGEST) throw new LaurelError('The body is too long.', { status: 413 })
  }
  return Buffer.concat(parts)
}

/** The status of the answer. Laurel sends the event again after any but 2xx. */
async function statusOf(request) {
  if (request.method !== 'POST' || request.url !== '/laurel') return 404
  try {
    // The body as it came: one that was parsed has another signature.
    const event = await verifyWebhook({ headers: request.headers, body: await bodyOf(request) }, secret)
    // Each attempt to send an event has the same id. What is kept is not lost, whatever happens to this process.
    if (inbox.keep(request.headers['webhook-id'], event)) queueMicrotask(() => inbox.each(work))
    return 204
  } catch (error) {
    console.error(`Refused: ${error.message}`)
    return error instanceof LaurelError ? error.status : 500
  }
}

const server = createServer(async (request, response) => response.writeHead(await statusOf(request)).end())
server.listen(port, '127.0.0.1', async () => {
  try {
    // In production, the secret of a webhook that you made in the console is in the environment.
    secret ??= await register(`http://127.0.0.1:${port}/laurel`)
    await inbox.each(work)
    console.log(`Waiting for webhooks on port ${port}.`)
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
})
