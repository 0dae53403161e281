/** Errors of the admin interface, as the console shows them. */
import { LaurelError } from '@laurel/client'
import { formatRelative } from '../ui/format'
import { sentence, sentenceAbout } from './words'

/** Whether the server could not be reached. */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof LaurelError && error.status === 0

/** Whether the server does not accept the key, or no longer does. */
export const isKeyRefused = (error: unknown): boolean => error instanceof LaurelError && error.status === 401

export const isNotFound = (error: unknown): boolean => error instanceof LaurelError && error.status === 404

/** Whether it is unknown if a write was done: its answer was lost, or the server had a fault. */
export const isAnswerLost = (error: unknown): boolean =>
  error instanceof LaurelError && (error.status === 0 || error.status >= 500)

/** Whether a write was refused since its item has changed or was deleted meanwhile (G15). */
export const isOutdated = (error: unknown): boolean =>
  error instanceof ChangedMeanwhile || (error instanceof LaurelError && error.status === 412)

/** Whether a write was refused since its item was deleted. */
export const isGone = (error: unknown): boolean =>
  error instanceof LaurelError && error.status === 412 && error.current === null

/** A sentence that says what is wrong and what to do. */
export function messageOf(error: unknown): string {
  if (error instanceof LaurelError && error.status === 412)
    return `Nothing was done: it was ${isGone(error) ? 'deleted' : 'changed'} meanwhile.`
  if (error instanceof WriteRefused) return error.message
  if (isConnectionLost(error))
    return 'There was no answer of the server. Check the connection, and whether an ad blocker stops this page. Then try again.'
  if (error instanceof LaurelError)
    return error.issues.map(({ path, message }) => sentenceAbout(path, message)).join(' ') || withWait(error)
  return 'Something went wrong in this page. Load it again.'
}

/** What an error says, with the time to wait if the server names one. */
function withWait({ message, retryAfter }: LaurelError): string {
  if (retryAfter === null) return sentence(message)
  const now = Date.now()
  const again = formatRelative(new Date(now + retryAfter * 1000).toISOString(), now)
  return `${sentence(message).replace(/ Try again.*$/, '')} Try again ${again}.`
}

/** Something that the interface objects to, with the path of the field if it names one. */
export type Objection = { path: string | null; message: string }

/** A write that was not done: the problems of a 422, or the issues of an answer. Warnings are none. */
export class WriteRefused extends Error {
  readonly objections: readonly Objection[]
  constructor(objections: readonly Objection[]) {
    super(objections.map(({ message }) => sentence(message)).join(' '))
    this.name = 'WriteRefused'
    this.objections = objections
  }
}

/** A write that would overwrite what people have not seen. The text says what that is, and `etag` names it. */
export class ChangedMeanwhile extends WriteRefused {
  constructor(
    changes: string,
    readonly etag: string | undefined,
  ) {
    super([{ path: null, message: `Nothing was done: it was changed meanwhile. ${changes}` }])
  }
}

/** The objections in an error of a write. */
export function objectionsOf(error: unknown): readonly Objection[] {
  if (error instanceof WriteRefused) return error.objections
  if (error instanceof LaurelError && error.issues.length > 0) return error.issues
  return [{ path: null, message: messageOf(error) }]
}

/**
 * Sorts objections by field: by their path, without the index of the item in the request, or by a field's
 * name in their text.
 */
export function messagesByField(objections: readonly Objection[], fields: readonly string[]) {
  const byField = new Map<string, string>()
  const others: string[] = []
  for (const { path, message } of objections) {
    const name = path?.replace(/^\d+\./, '')
    const field =
      fields.find((one) => one === name) ??
      fields.find((one) => name?.startsWith(`${one}.`)) ??
      (name === undefined ? fieldIn(message, fields) : undefined)
    if (field === undefined) others.push(sentenceAbout(path, message))
    else if (!byField.has(field)) byField.set(field, sentence(message))
  }
  return { byField, others }
}

/** The field that a text names as a word: the longest one. */
const fieldIn = (text: string, fields: readonly string[]): string | undefined =>
  fields
    .filter((name) => new RegExp(`(^|\\W)${name}(\\W|$)`).test(text))
    .toSorted((a, b) => b.length - a.length)[0]
