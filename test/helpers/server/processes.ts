/**
 * The processes of this machine, as far as tests need them. A dead process that its parent has not waited for
 * is not counted: only its entry is left.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export type Process = {
  id: number
  parent: number
  group: number
  command: string
  /** Its start time, as the system writes it. An id is reused, but the pair of id and start time is not. */
  began: string
}

function processes(): Process[] {
  if (process.platform !== 'linux') return listed()
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? fromProc(name) : []))
}

/** Reads the process table of Linux, because `ps` may not be installed. */
function fromProc(name: string): Process[] {
  try {
    const [, command = '', rest = ''] =
      /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
    // From the third field on. The 22nd field is the start time.
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

/** A process, and all processes that it started, directly or not. */
export function descendants(id: number): Process[] {
  const all = processes()
  const found = all.filter((candidate) => candidate.id === id)
  for (const known of found) found.push(...all.filter(({ parent }) => parent === known.id))
  return found
}

/**
 * The processes of a group, and all processes with a text in their environment, such as a mark. Children
 * inherit both, so processes whose parent has ended are included.
 */
export function ofGroupOrMarked(group: number, mark: string): Process[] {
  return processes().filter((one) => one.group === group || environmentOf(one).includes(mark))
}

/** The environment of a process. Empty if the process has ended or belongs to another user. */
function environmentOf({ id }: Process): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${id}/environ`, 'latin1')
    return execFileSync('ps', ['eww', '-o', 'command=', '-p', `${id}`], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

/** The known processes that still run, by name and id. */
export function stillRunning(known: Process[]): string[] {
  const now = new Map(processes().map(({ id, began }) => [id, began]))
  return known.filter(({ id, began }) => now.get(id) === began).map(({ id, command }) => `${command} (${id})`)
}

export function commandLine({ id }: Process): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-ww', '-o', 'args=', '-p', `${id}`], { encoding: 'utf8' })
  return readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')
}
