import * as z from 'zod'

/**
 * A deletion that must be done again after a restore: of a user, by the internal id; of an API key, by its
 * prefix; of a whole tenant (M3).
 */
export const Deletion = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), tenantId: z.string(), iid: z.string() }),
  z.object({ kind: z.literal('key'), prefix: z.string() }),
  z.object({ kind: z.literal('tenant'), tenantId: z.string() }),
])
export type Deletion = z.infer<typeof Deletion>

/** Adds deletions to the list. */
export const NoteRequest = z.object({ deletions: z.array(Deletion) })

/** The place of a deletion in the list: its moment in milliseconds, and its name. */
export const DeletionPlace = z.object({ at: z.number(), name: z.string() })
export type DeletionPlace = z.infer<typeof DeletionPlace>

/** Asks for the next deletions after a place, oldest first; null: from the beginning. */
export const DeletionsRequest = z.object({ after: DeletionPlace.nullable(), limit: z.number() })
/** The deletions, and the place of the last one; null if there is none. */
export const DeletionsReply = z.object({
  deletions: z.array(Deletion),
  last: DeletionPlace.nullable(),
})
