'use server'
/** The server actions of the page. Anybody can call them, so each one checks the user and the input. */
import { createHash } from 'node:crypto'
import type { EventResponse } from '@laurel/client'
import { refresh } from 'next/cache'
import { laurel, messageFor } from '@/lib/laurel'
import { endSession, signedInUser, startSession } from '@/lib/session'

/** A field of a form, without spaces around it. Empty if it is missing, or no text. */
function textOf(form: unknown, field: string): string {
  const value = form instanceof FormData ? form.get(field) : null
  return typeof value === 'string' ? value.trim() : ''
}

export interface SignInState {
  name: string
  error?: string
}

export async function signIn(_: SignInState, form: FormData): Promise<SignInState> {
  const name = textOf(form, 'name')
  if (name === '' || name.length > 40) return { name, error: 'Enter a name with at most 40 characters.' }
  // This is a demo: a name is enough, and the same name is the same user. Check a password here, or ask a provider.
  const userId = `reader-${createHash('sha256').update(name.toLowerCase()).digest('hex').slice(0, 16)}`
  try {
    // The days of a streak begin at midnight where the user is. The page can tell as soon as it has started.
    await laurel.users.identify(userId, { name, tz: textOf(form, 'timeZone') || 'UTC' })
  } catch (error) {
    return { name, error: messageFor(error) }
  }
  // Next.js renders the page again after an action that changes a cookie.
  await startSession(userId)
  return { name: '' }
}

export async function signOut(): Promise<void> {
  await endSession()
}

/** Laurel's answer to the event, which the page gives to the hooks of `@laurel/react`, or a message for the user. */
export type Logged = { answer: EventResponse } | { error: string }

export async function logPages(form: FormData): Promise<Logged> {
  const userId = await signedInUser()
  if (userId === null) {
    refresh()
    return { error: 'Your session is over. Sign in again.' }
  }
  const book = textOf(form, 'book')
  if (book === '' || book.length > 80) return { error: 'Enter a book with at most 80 characters.' }
  const pages = Number(textOf(form, 'pages'))
  if (!Number.isInteger(pages) || pages < 1 || pages > 300)
    return { error: 'Enter a whole number of pages, from 1 to 300.' }
  const entry = textOf(form, 'entry')
  if (!/^[\w-]{10,64}$/.test(entry)) return { error: 'Load the page again, and then send the form.' }
  try {
    const answer = await laurel.event('reading-pages', {
      user: { id: userId },
      value: pages,
      attributes: { 'reading-book': book },
      // An entry counts once, however often the page sends it.
      idempotencyKey: entry,
    })
    // The diary is rendered by the server.
    refresh()
    return { answer }
  } catch (error) {
    return { error: messageFor(error) }
  }
}
