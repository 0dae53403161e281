/**
 * Writes that outlive what began them. A write begins with a press and ends with an answer, wherever people are by
 * then: the cache of mutations knows all of them, and `Kept` knows the entries until they are saved or dropped. A
 * form or a question that is still open shows the answer; else a message does.
 */
import { type QueryClient, useIsMutating, useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import {
  ChangedMeanwhile,
  isAnswerLost,
  isConnectionLost,
  isGone,
  isNotFound,
  isOutdated,
  messagesByField,
  type Objection,
  objectionsOf,
  WriteRefused,
} from '../api/errors'
import { type Tagged, tagged, useLaurel } from '../api/laurel'
import { sentence, sentenceAbout } from '../api/words'
import type { Entries, Problem, Secret } from '../session/kept'
import { useEntriesId, useKept, useSession } from '../session/session-context'
import { say } from '../ui/text'
import { done, failed, waiting } from '../ui/toasts'
import type { Act, Admin, Issue, Written } from './resource'
import { listKey } from './shown'

/** How long after an answer another press at the same place does nothing, in milliseconds. */
export const PAUSE = 500

/** How often a write is sent at most, if it overwrites nothing that people have not seen. */
const TRIES = 3

/** The beginning of the keys of all writes in the cache of mutations. */
export const WRITES = ['write']

/** The issues of an answer that has them. */
const issuesOf = (answer: object): readonly Issue[] =>
  'issues' in answer && Array.isArray(answer.issues) ? answer.issues : []

/** Throws if the interface did not do a write: its issues say why. */
export function demandWritten(answer: object, isWarningRefused = false): void {
  const objections: Objection[] = issuesOf(answer)
    .filter(({ severity }) => severity === 'error' || isWarningRefused)
    .map(({ message }) => ({ path: null, message }))
  if (objections.length > 0) throw new WriteRefused(objections)
}

/** The item of an answer to a write of one. */
export function itemOf<Item>({ created, updated, etag }: Tagged<Written<Item>>): Tagged<Item> | undefined {
  const item = (created ?? updated)?.[0]
  return item && { ...item, etag }
}

/** An item with its name, as the beginning of a sentence: `The metric “Pages”`. */
export const named = (one: string, name: string) => say`The ${one} “${name}”`

/**
 * Removes something. That it is gone already is no refusal: the answer to an earlier try was lost, or somebody else
 * was faster. Most refusals do not say whether it is gone, so `isThere` reads it after them.
 */
export const removing =
  <Answer extends object>(remove: Act<Answer>, isThere: Act<boolean>): Act<Partial<Answer>> =>
  async (admin, laurel) => {
    try {
      const answer = await remove(admin, laurel)
      demandWritten(answer)
      return answer
    } catch (error) {
      const isUnclear = error instanceof WriteRefused || isNotFound(error)
      if (isGone(error) || (isUnclear && !(await isThere(admin, laurel)))) return {}
      throw error
    }
  }

/** Whether a list has an item with this id, on any of its pages. */
export async function isListed(list: AsyncIterable<{ id: string }>, id: string): Promise<boolean> {
  for await (const item of list) if (item.id === id) return true
  return false
}

export type Write<Answer extends object = object> = {
  /** The item with its name, as the beginning of a sentence. */
  what: string
  /** What happens to it, such as `was created`. Begins with "was", "were" or "is". */
  did: string
  act: Act<Answer>
  /** More of the message afterwards. */
  more?(answer: Answer): string | undefined
  /** Shows the answer, so that nobody waits until everything was read again. */
  show?(queries: QueryClient, answer: Tagged<Answer>): unknown
  /** Something in the answer that is shown only once. */
  secret?(answer: Answer): Secret | undefined
  /** The state that people have seen. Nothing is done if there is another one by now (G15). */
  etag?: string | undefined
  /**
   * Reads what that is. Returns its ETag if the write overwrites nothing that people have not seen: it is sent
   * again. Else it throws, or returns undefined.
   */
  review?: ((admin: Admin, queries: QueryClient) => Promise<string | undefined>) | undefined
  /** Whether no message says that it was done: the page itself shows it. */
  isQuiet?: boolean
  /** Whether the item is gone. Its page, which is about to be left, then reads nothing again. */
  isRemoval?: boolean
  /** The entries of a form, under their id. */
  entries?: { id: string } & Pick<Entries, 'values' | 'seen'>
}

/** The sentence of a write whose answer was lost. */
const unknownOf = ({ what, did }: { what: string; did: string }) =>
  `It is not known whether ${what.charAt(0).toLowerCase()}${what.slice(1)} ${did}`

const NO_ANSWER: Objection = { path: null, message: 'There was no answer of the server.' }

/** Why a write was not done. */
export const problemOf = (error: unknown, write: { what: string; did: string }): Problem => ({
  objections: isConnectionLost(error) ? [NO_ANSWER] : objectionsOf(error),
  unknown: isAnswerLost(error) ? unknownOf(write) : null,
})

/** A problem as people read it, with those messages that no field of a form shows. */
export const shownProblem = ({ objections, unknown }: Problem, fields: readonly string[] = []) => ({
  others: messagesByField(objections, fields).others,
  unknown,
})

export type Options = {
  /** The beginning of the keys of all reads that a write changes. Also the page where people can look. */
  path: string
  /** The page where people can look whether a write was done, if the path is none. */
  look?: string | undefined
  /** Names what is written. Only one write of it is on its way at a time. */
  scope?: string | undefined
  /** Whether what begins the write shows the answer while it is open, as a form does. It then closes. */
  showsAnswer?: boolean
  /** Whether a warning says that nothing was done, as it does for writes about one user. */
  isWarningRefused?: boolean | undefined
}

/** A function that begins writes, whether one is on its way, and why the last one was not done. */
export function useWrite<Answer extends object = object>(options: Options) {
  const { path, look = path, scope = path, showsAnswer = false, isWarningRefused } = options
  const laurel = useLaurel()
  const queries = useQueryClient()
  const kept = useKept()
  const session = useSession()
  const { history } = useRouter()
  const buttonId = useEntriesId(scope)
  const [isResting, setResting] = useState(false)
  const isShown = useRef(false)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  /** Asks the form to show the entries of a write. */
  const open = (place: string, entries?: string) => history.push(place, { entries })
  const mutation = useMutation({
    mutationKey: [...WRITES, scope],
    mutationFn: async ({ act, etag: seen, review }: Write<Answer>) => {
      for (let [etag, tries] = [seen, 1]; ; tries += 1) {
        const client = etag === undefined ? laurel : laurel.with({ headers: { 'If-Match': etag } })
        try {
          const answer = await tagged(act(client.admin, client))
          demandWritten(answer, isWarningRefused)
          return answer
        } catch (error) {
          if (!isOutdated(error) || tries === TRIES) throw error
          etag = await review?.(laurel.admin, queries).catch((failure: unknown) => {
            throw failure instanceof ChangedMeanwhile ? failure : error
          })
          if (etag === undefined) throw error
        }
      }
    },
    onMutate: ({ entries, ...write }) => {
      const { id = buttonId, values = {}, seen } = entries ?? {}
      const { href: place, pathname } = history.location
      return {
        id: kept.begin(id, { title: write.what, place, values, seen, saving: unknownOf(write) }),
        place,
        visit: session.visit,
        // Who has followed a link sees the form no more, also while the next page is loading.
        isShown: () => showsAnswer && isShown.current && history.location.pathname === pathname,
      }
    },
    onSuccess: async (answer, write, { id, visit, isShown }) => {
      if (visit !== session.visit) return
      kept.drop(id)
      write.show?.(queries, answer)
      const isPageShown = isShown()
      const isLeaving = write.isRemoval === true && isPageShown
      queries.invalidateQueries({ queryKey: [path], refetchType: isLeaving ? 'none' : 'active' })
      if (isLeaving) queries.refetchQueries({ queryKey: listKey(path), type: 'active' })
      const title = `${write.what} ${write.did}`
      const secret = write.secret?.(answer)
      if (secret !== undefined) kept.add({ ...secret, isWaiting: !isPageShown })
      if (secret !== undefined && !isPageShown) return void waiting(title, 'Show it', kept.show)
      const said = isWarningRefused ? [] : issuesOf(answer).map(({ message }) => sentence(message))
      if (!write.isQuiet) done(title, [...said, write.more?.(answer)].filter(Boolean).join(' ') || undefined)
    },
    onError: (error, write, context) => {
      if (context === undefined || context.visit !== session.visit) return
      const problem = problemOf(error, write)
      const { objections, unknown } = problem
      const isOpen = context.isShown()
      kept.refuse(context.id, problem, isOpen ? write.entries?.id : undefined)
      if (unknown !== null || isOutdated(error)) queries.invalidateQueries({ queryKey: [path] })
      if (isOpen) return
      const why = objections.map(({ path, message }) => sentenceAbout(path, message)).join(' ')
      failed(unknown ?? `${write.what} ${write.did.replace(/^\w+/, '$& not')}`, why, [
        ...(unknown === null ? [] : [{ label: 'Look', act: () => open(`/console${look}`) }]),
        ...(write.entries === undefined
          ? []
          : [{ label: 'Back to the entries', act: () => open(context.place, context.id) }]),
      ])
    },
    // A button that stays is busy for a moment: a second press would do the opposite, or the same twice.
    onSettled: (_answer, error) => {
      if (showsAnswer && !isOutdated(error)) return
      setResting(true)
      setTimeout(() => setResting(false), PAUSE)
    },
  })
  const writes = { mutationKey: [...WRITES, scope] }
  return {
    begin: mutation.mutate,
    isBusy: useIsMutating(writes) > 0 || isResting,
    /** Whether one is on its way now. What is drawn follows a moment later. */
    isOnItsWay: () => queries.isMutating(writes) > 0,
    /** Why the last write was not done. */
    problem:
      mutation.error && mutation.variables && shownProblem(problemOf(mutation.error, mutation.variables)),
  }
}
