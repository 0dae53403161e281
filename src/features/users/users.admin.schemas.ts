import * as z from 'zod'
import { text, UserId } from '../../http/fields'
import { ListQuery } from '../../http/queries'
import { MOST_SEARCH_CHARACTERS } from '../../lib/limits'
import { User } from '../../wire/user.schemas'

/**
 * A page of users. `search` is a part of their id, name or email, without regard to upper and lower case
 * (G7).
 */
export const UserListQuery = ListQuery.extend({
  search: z
    .string('must be given once')
    .min(1, 'must not be empty')
    .pipe(text(MOST_SEARCH_CHARACTERS))
    .optional(),
})

export const ListUsersResponse = z.array(User).meta({ id: 'ListUsersResponse' })

export const UserParams = z.object({ id: UserId })

/** An erased user (U8). */
export const ErasedUser = z.object({ id: z.string() }).meta({ id: 'ErasedUser' })
