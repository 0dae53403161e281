/** The addresses of users' pages, and the reads of several of them. */
import { useQuery } from '@tanstack/react-query'
import { useLaurel } from '../../api/laurel'
import { userPath } from '../../ui/text'

/** The parts of a user's page that have an address of their own. */
export type UserPart = 'summary' | 'timeline' | 'achievements' | 'preferences' | 'edit'

export const USERS = '/users'
export const NEW_USER = '/users/new'

/** The address of a part of a user's page. */
export const pathOfUser = (id: string, part: UserPart = 'summary'): string =>
  part === 'summary' ? userPath(id) : `${USERS}/${encodeURIComponent(id)}/${part}`

/** The beginning of the keys of all reads about a user. A write reads all of them again. */
export const keyOfUser = (id: string, ...parts: readonly string[]) => [USERS, 'item', id, ...parts]

/** Points, metrics, achievements, the streak and places of a user. */
export function useOverview(id: string) {
  const { users } = useLaurel()
  return useQuery({ queryKey: keyOfUser(id, 'overview'), queryFn: () => users.overview(id) })
}

/**
 * How writes about one user are made: afterwards everything that is shown of users is read again. Of one user, a
 * warning says that nothing was done.
 */
export const writesOf = (id: string) => ({ path: USERS, look: pathOfUser(id), isWarningRefused: true })
