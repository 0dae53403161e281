/** What the server tells the Worker of the disk and the network, which the Worker itself cannot see. */
import { lookup } from 'node:dns/promises'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { connect, isIP } from 'node:net'
import { join } from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { pathToFileURL } from 'node:url'
import { connectFault } from '../lib/port.mjs'
import { BUILT } from '../lib/project.mjs'

/** How long an answer about the disk counts, in milliseconds: `/health` needs no key. */
const FRESH = 5000
/** More than most changes need. */
const SAMPLE = Buffer.alloc(65_536, '.')
const PROBE = 'probe'

let last = { at: Number.NEGATIVE_INFINITY, code: Promise.resolve('') }

/** The code of the error on writing to the folder with the data, such as `ENOSPC`; empty if there is none. */
export function storageFault() {
  const now = performance.now()
  if (now - last.at > FRESH) last = { at: now, code: write() }
  return last.code
}

async function write() {
  try {
    await writeFile(PROBE, SAMPLE, { mode: 0o600, flush: true })
    return ''
  } catch (error) {
    return Object(error).code
  } finally {
    await rm(PROBE, { force: true }).catch(() => undefined)
  }
}

/** How long a connection may take, in milliseconds. */
const TIMEOUT = 5000

/**
 * Why no connection to an origin can be made: the code of Node's error; empty if one was made. `EPRIVATE` if it
 * leads only to private addresses, and the Worker may reach none: then none is called.
 *
 * @type {(origin: string, isPrivateAllowed: boolean) => Promise<string>}
 */
export async function networkFault(origin, isPrivateAllowed) {
  const { protocol, hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  try {
    const { isPublicAddress } = await import(pathToFileURL(join(BUILT, 'variables.mjs')).href)
    const addresses = await lookup(host, { all: true })
    const target = addresses.find(({ address }) => isPrivateAllowed || isPublicAddress(address))
    if (target === undefined) return 'EPRIVATE'
    const isPlain = protocol === 'http:'
    const options = { host: target.address, port: Number(port || (isPlain ? 80 : 443)), timeout: TIMEOUT }
    if (isPlain) return await connectFault(connect(options))
    // workerd trusts what is in this file.
    const { SSL_CERT_FILE: trusted } = process.env
    const ca = trusted ? { ca: await readFile(trusted) } : {}
    const socket = connectSecurely({ ...options, ...ca, servername: isIP(host) === 0 ? host : '' })
    return await connectFault(socket, 'secureConnect')
  } catch (error) {
    return Object(error).code
  }
}
