/**
 * The processes of this machine, as far as a test must know them. A dead process that nobody has waited for is not
 * counted: it is only a name.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export type Process = {
  id: number
  parent: number
  /** Its process group. */
  group: number
  command: string
  /** When it began, in the system's own words: an id is used again, this pair is not. */
  began: string
}

/** Every process that runs. */
function processes(): Process[] {
  if (process.platform !== 'linux') return listed()
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? fromProc(name) : []))
}

/** By the process table of Linux, where `ps` need not be installed. */
function fromProc(name: string): Process[] {
  try {
    const [, command = '', rest = ''] =
      /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
    // From the third field on; the 22nd is the start time.
    const [state, parent, group, ...more] = rest.split(' ')
    if (state === 'Z' || state === 'X') return []
    return [
      { id: Number(name), parent: Number(parent), group: Number(group), command, began: more[16] ?? '' },
    ]
  } catch {
    return []
  }
}

function listed(): Process[] {
  const columns = ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,comm=']
  const lines = execFileSync('ps', columns, { encoding: 'utf8' }).split('\n')
  return lines.flatMap((line) => {
    const [, id, parent, group, state = '', began = '', command = ''] =
      /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\S+ +\S+ +\S+ +\S+ +\S+) +(.*)$/.exec(line) ?? []
    return id === undefined || state.startsWith('Z')
      ? []
      : [{ id: Number(id), parent: Number(parent), group: Number(group), command, began }]
  })
}

/** A process and all that it started, directly or not. */
export function descendants(id: number): Process[] {
  const all = processes()
  const found = all.filter((candidate) => candidate.id === id)
  for (const known of found) found.push(...all.filter(({ parent }) => parent === known.id))
  return found
}

/**
 * The processes of a group, and all whose environment holds a text, such as a mark that whoever started them gave them: children inherit
 * both, so that those are among them whose parent is gone.
 */
export function ofGroupOrMarked(group: number, mark: string): Process[] {
  return processes().filter((one) => one.group === group || environmentOf(one).includes(mark))
}

/** The environment of a process; empty where it has ended meanwhile or is another user's. */
function environmentOf({ id }: Process): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${id}/environ`, 'latin1')
    return execFileSync('ps', ['eww', '-o', 'command=', '-p', `${id}`], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

/** Those that still run, by name and id. */
export function stillRunning(known: Process[]): string[] {
  const now = new Map(processes().map(({ id, began }) => [id, began]))
  return known.filter(({ id, began }) => now.get(id) === began).map(({ id, command }) => `${command} (${id})`)
}

/** The command line of a process that runs. */
export function commandLine({ id }: Process): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-ww', '-o', 'args=', '-p', `${id}`], { encoding: 'utf8' })
  return readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')
}
