import { useMutation, useQueryClient } from '@tanstack/react-query'
import { WriteRefused } from '../../api/errors'
import { done } from '../../ui/toasts'
import { USERS } from './user-paths'

type Issue = { severity: 'error' | 'warning'; message: string }

/** The issues of an answer that has them. */
const issuesOf = (answer: object): readonly Issue[] =>
  'issues' in answer && Array.isArray(answer.issues) ? answer.issues : []

type UserWrite = {
  act: () => PromiseLike<object>
  /** The text of the message that appears afterwards. */
  done: string
  /** More of the message, which depends on the answer. It is called after `act`. */
  more?: () => string | undefined
  /** Is called at once afterwards, for example to leave the page of a user who is gone. */
  after?: () => unknown
}

/**
 * Writes about one user. Each issue of the answer counts as a failure, warnings too: of one user, a warning
 * says that nothing was done. Afterwards everything that is shown of users is read again.
 */
export function useUserWrite() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ act }: UserWrite) => {
      const issues = issuesOf(await act())
      if (issues.length > 0) throw new WriteRefused(issues.map(({ message }) => ({ path: null, message })))
    },
    onSuccess: async (_, write) => {
      await write.after?.()
      const more = write.more?.()
      done(write.done, ...(more === undefined ? [] : [more]))
      await queries.invalidateQueries({ queryKey: [USERS] })
    },
  })
}
