/** The addresses of users' pages. */

/** The parts of a user's page that have an address of their own. */
export type UserPart = 'summary' | 'timeline' | 'achievements' | 'preferences' | 'edit'

export const USERS = '/users'
export const NEW_USER = '/users/new'

/** The address of a user's page. `/users/new` is a form, so that user's address has the part too. */
export function pathOfUser(id: string, part: UserPart = 'summary'): string {
  const path = `${USERS}/${encodeURIComponent(id)}`
  return part === 'summary' && path !== NEW_USER ? path : `${path}/${part}`
}

/** The beginning of the keys of all reads about a user. A write reads all of them again. */
export const keyOfUser = (id: string, ...parts: readonly string[]) => [USERS, 'item', id, ...parts]
