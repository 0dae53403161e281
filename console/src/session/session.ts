/** The session of this tab. The admin key is only in `sessionStorage`, never in an address or a log. */
import { Store } from '../ui/store'

/** Where `sessionStorage` keeps it. */
const STORED = 'laurel.session'

const NO_STORAGE =
  'The browser does not keep the key: the storage of this site is blocked or full. Allow it in the settings of the browser, or close other tabs of this site. Then sign in again.'

/** The features of the server, which it names to the holder of a key. */
export type Features = {
  /** Whether requests name a tenant. */
  multiTenancy: boolean
  /** Whether there is a test clock. */
  testClock: boolean
}

/** A key that the server has accepted. */
export type SignedIn = Features & {
  apiKey: string
  /** The chosen tenant; null without multi-tenancy, and until one is chosen. */
  tenant: { id: string; name: string } | null
}

export type SessionState = {
  signedIn: SignedIn | null
  /** Why the last session ended, for the sign-in page; null if the user signed out. */
  message: string | null
}

/** Reads the stored session. Anything else that is stored there counts as none. */
function read(): SignedIn | null {
  try {
    const stored: Record<string, unknown> = Object(JSON.parse(sessionStorage.getItem(STORED) ?? 'null'))
    const { apiKey, multiTenancy, testClock, tenant } = stored
    if (typeof apiKey !== 'string') return null
    const { id, name }: Record<string, unknown> = Object(tenant)
    return {
      apiKey,
      multiTenancy: multiTenancy === true,
      testClock: testClock === true,
      tenant: typeof id === 'string' && typeof name === 'string' ? { id, name } : null,
    }
  } catch {
    return null
  }
}

/** The session of a tab, as a store for `useSyncExternalStore`. */
export class Session extends Store {
  #state: SessionState = { signedIn: read(), message: null }
  readonly #onLeave: () => void
  /** How often people have left. Nothing of an earlier visit is shown in a later one. */
  visit = 0

  /** @param onLeave is called when people sign out, or leave a tenant */
  constructor(onLeave: () => void) {
    super()
    this.#onLeave = onLeave
  }

  readonly state = () => this.#state

  signIn(apiKey: string, features: Features): void {
    this.#set({ signedIn: { ...features, apiKey, tenant: null }, message: null })
  }

  chooseTenant(tenant: SignedIn['tenant']): void {
    const { signedIn } = this.#state
    if (signedIn?.tenant) this.#leave()
    if (signedIn !== null) this.#set({ signedIn: { ...signedIn, tenant }, message: null })
  }

  /** Forgets the key. A message says why, if the user did not ask for it. */
  end(message: string | null = null): void {
    if (this.#state.signedIn === null && message === null) return
    if (message === null) this.#leave()
    this.#set({ signedIn: null, message })
  }

  #leave(): void {
    this.visit += 1
    this.#onLeave()
  }

  /** Throws if the browser does not keep the key. */
  #set(state: SessionState): void {
    try {
      if (state.signedIn === null) sessionStorage.removeItem(STORED)
      else sessionStorage.setItem(STORED, JSON.stringify(state.signedIn))
    } catch {
      // A storage that is blocked keeps nothing that has to be removed.
      if (state.signedIn !== null) throw new Error(NO_STORAGE)
    }
    this.#state = state
    this.tell()
  }
}
