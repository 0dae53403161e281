import type { Runtime } from './retries.js'

/** A key or a token with its end, as `POST /admin/v1/user-tokens` answers it. */
export interface Token {
  token: string
  /** ISO 8601. */
  expires?: string | undefined
}

/** A key, or a function that gets a key or a token when the client needs a new one. */
export type ApiKey = string | (() => string | Token | Promise<string | Token>)

/** The part of the global `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** The options that each call can set for itself. */
export interface CallOptions {
  /** Ends the call. It then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The longest time of one try, in milliseconds. */
  timeout?: number | undefined
  /** The most tries, 1 to 10. 1: the call is repeated only with a new key, after a 401 or 403. */
  tries?: number | undefined
  /** More headers. */
  headers?: Readonly<Record<string, string>> | undefined
  /** The tenant, if multi-tenancy is on: its id, or your own identifier of it. */
  tenant?: string | undefined
}

/** The options of a client. */
export interface LaurelOptions {
  /** The base URL of the installation, such as `http://localhost:8787`. */
  url: string
  /**
   * An admin key on servers; an application key, or a function that gets a user token, in browsers. A
   * function is called when the client has no token, shortly before the token ends, and once after a 401 or
   * 403.
   */
  apiKey: ApiKey
  /** The base URL of the admin interface, if it is another one (`ADMIN_HOST`). */
  adminUrl?: string | undefined
  /** The tenant, if multi-tenancy is on: its id, or your own identifier of it. */
  tenant?: string | undefined
  /** The longest time of one try, in milliseconds. 30,000 if absent. */
  timeout?: number | undefined
  /** The most tries of a call, 1 to 10. 5 if absent. */
  tries?: number | undefined
  /** More headers of every request. */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * Replaces the global `fetch`: a function, or an object that has one. In a Worker, that is the service binding
   * itself, such as `env.LAUREL`.
   */
  fetch?: Fetch | { fetch: Fetch } | undefined
  /** Replaces time and chance, for tests. */
  runtime?: Partial<Runtime> | undefined
}
