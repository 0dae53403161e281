/**
 * What people have entered in this tab and not saved, with the writes that are on their way. It survives a
 * reload and the end of a session, until it is saved or dropped. Secrets are only in memory.
 */
import type { ComponentProps } from 'react'
import type { Objection } from '../api/errors'
import type { SecretDialog } from '../ui/secret'
import { Store } from '../ui/store'

/** Where `sessionStorage` keeps it. */
const STORED = 'laurel.entries'

/** Why a write was not done. Its answer may have been lost: then it may be done all the same. */
export type Problem = { objections: readonly Objection[]; unknown: string | null }

export type Entries = {
  /** The name, as people know it: `New metric`. */
  title: string
  /** The address of the form, or of the page where a button was pressed. */
  place: string
  /** The changed fields by name. Empty if there was no form. */
  values: Readonly<Record<string, unknown>>
  /** The values that people have seen, of something that others may change too. */
  seen?: object | undefined
  /** The sentence that says that the answer was lost, while there is no answer to a write. */
  saving?: string
  problem?: Problem | undefined
}

/** Something that is shown once, such as a new key. It may wait until people ask for it. */
export type Secret = Omit<ComponentProps<typeof SecretDialog>, 'onClose'> & { isWaiting?: boolean }

/** Reads what is stored. A browser may block its storage. */
function read(): readonly (readonly [id: string, Entries])[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]')
    // The console of another version may have kept something else.
    return Array.isArray(stored) ? stored.filter((one) => typeof one?.[1]?.title === 'string') : []
  } catch {
    return []
  }
}

/** The id of the entries of a form, of which a write has an id of its own: `form#1`. */
const formOf = (id: string) => id.replace(/#.*/, '')

const NONE: Entries = { title: '', place: '', values: {} }

export class Kept extends Store {
  readonly #all = new Map(read())
  /** The writes whose answers were lost when the page was loaded again. */
  readonly lost: (Entries & { id: string; unknown: string })[] = []
  #secrets: readonly Secret[] = []
  #begun = Date.now()
  /** The entries as JSON, from the moment at which the browser began to leave the page. */
  #left: string | null = null
  /** Whether the browser has left the page. The Back button may return to it. */
  #isGone = false
  /** Whether the console itself loads the page again. Then nobody is asked: the entries come back. */
  isReloading = false

  constructor() {
    super()
    for (const [id, { saving: unknown, ...entries }] of this.#all) {
      if (unknown === undefined) continue
      this.lost.push({ ...entries, id, unknown })
      this.refuse(id, { objections: [], unknown })
    }
    // A browser ends requests when people leave the page, shortly before or after it is hidden. That is no answer.
    addEventListener('beforeunload', () => {
      this.#left = JSON.stringify([...this.#all])
    })
    addEventListener('pagehide', () => {
      if (this.#left !== null) this.#write(this.#left)
      this.#isGone = true
    })
    addEventListener('pageshow', () => {
      this.#isGone = false
    })
    // Who goes on working has stayed: then the entries of that moment are old.
    for (const type of ['pointerdown', 'keydown', 'input'])
      addEventListener(
        type,
        () => {
          this.#left = null
        },
        { capture: true },
      )
  }

  /** The secrets that people have to see, the oldest first. */
  readonly secrets = () => this.#secrets

  /**
   * The entries that a form begins with. Those of a write that was not done are its own again, unless it has others
   * by now. An address may still name them by the id of the write.
   */
  take(id: string): Entries | undefined {
    const form = formOf(id)
    const isFree = ([other, { saving }]: [string, Entries]) =>
      saving === undefined && (other === form || (id === form && formOf(other) === form))
    const found = this.#all.get(id) ?? [...this.#all].find(isFree)?.[1]
    for (const [other, entries] of this.#all) if (entries === found) this.#all.delete(other)
    if (found !== undefined) this.set(id, found)
    return found
  }
  /** Loads the page again, with the entries. */
  reload(): void {
    this.isReloading = true
    location.reload()
  }
  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#secrets.length === 0
  }
  /** The names of what would be lost. */
  titles(): string[] {
    return [...this.#all.values(), ...this.#secrets].map(({ title }) => title)
  }
  set(id: string, entries: Entries): void {
    this.#all.set(id, entries)
    this.#store()
  }
  drop(id: string): void {
    if (this.#all.delete(id)) this.#store()
  }

  /** A write begins. Its entries are no longer those of the form, which can be used for others. Returns their id. */
  begin(id: string, entries: Entries): string {
    this.#all.delete(id)
    this.#begun += 1
    const own = `${formOf(id)}#${this.#begun}`
    this.set(own, entries)
    return own
  }
  /** A write was not done. Its entries stay: those of its form, if that is still open. */
  refuse(id: string, problem: Problem, form = id): void {
    const { saving: _saving, ...entries } = this.#all.get(id) ?? NONE
    this.drop(id)
    if (Object.keys(entries.values).length > 0) this.set(form, { ...entries, problem })
  }

  add(secret: Secret): void {
    this.#secrets = [...this.#secrets, secret]
    this.tell()
  }
  /** Shows the secrets that wait. */
  readonly show = () => {
    this.#secrets = this.#secrets.map((one) => ({ ...one, isWaiting: false }))
    this.tell()
  }
  hide(secret: Secret): void {
    this.#secrets = this.#secrets.filter((one) => one !== secret)
    this.tell()
  }

  readonly clear = () => {
    this.#all.clear()
    this.#secrets = []
    this.#left = null
    this.#store()
    this.tell()
  }
  #store(): void {
    this.#write(JSON.stringify([...this.#all]))
  }
  #write(all: string): void {
    if (this.#isGone) return
    try {
      if (all === '[]') sessionStorage.removeItem(STORED)
      else sessionStorage.setItem(STORED, all)
    } catch {
      // The storage is full or blocked. Then a reload asks, and nothing else is lost.
    }
  }
}
