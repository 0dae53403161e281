import * as z from 'zod'
import { longListQuery } from '../../api/cursors'
import { text, UserId } from '../../api/fields'
import { UserAttributesQuery } from '../../api/queries'
import { User } from '../../api/shapes/user.schemas'
import { MOST_SEARCH_CHARACTERS } from '../../lib/limits'
import { UserPlace } from '../../store/pages.repository'

/**
 * A page of users. `search` is a part of their id, name or email, in upper or lower case.
 * `userAttributes` are values that they have (G7, U8). The cursor is the place of the last user of the page
 * before (O3).
 */
export const UserListQuery = longListQuery(UserPlace, {
  search: z
    .string('must be given once')
    .min(1, 'must not be empty')
    .pipe(text(MOST_SEARCH_CHARACTERS))
    .optional(),
  userAttributes: UserAttributesQuery.optional(),
})

export const ListUsersResponse = z.array(User).meta({ id: 'ListUsersResponse' })

export const UserParams = z.object({ id: UserId })

/** An erased user (U8). */
export const ErasedUser = z.object({ id: z.string() }).meta({ id: 'ErasedUser' })
