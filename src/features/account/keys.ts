import * as z from 'zod'
import { newKey, sha256, signUserToken, type TokenUser } from '../../access/credentials'
import { notingDeletedKeys, refuseKeys, tryToNoteDeletions } from '../../access/deleted-keys'
import {
  deleteKeys,
  forgetKeys,
  insertKeys,
  KEY_EXISTS,
  type KeyOwner,
  type KeyRow,
  keysWithIds,
  listKeys,
  nthKey,
  PREFIX_EXISTS,
  recordOf,
  rememberKey,
  replaceKey,
} from '../../access/keys.sql.ts'
import {
  createResponse,
  defaulted,
  deleteResponse,
  items,
  MomentField,
  Name,
  Timestamp,
  UserId,
  UuidResponse,
  wholeNumber,
  withIssues,
} from '../../api/fields'
import { ListQuery } from '../../api/queries'
import { unknownIssue } from '../../api/resources/drafts.rules'
import {
  type AuditEntry,
  entriesOf,
  goneFields,
  HIDDEN,
  madeFields,
  userEntry,
} from '../../configuration/audit.rules'
import { auditEntries, auditEntriesIf } from '../../configuration/audit.sql.ts'
import { DAY, HOUR, iso, isoOrNull, MINUTE, SECOND } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { within } from '../../lib/system-clock'
import { type AccountScope, KEY_SCOPES, type Scope } from '../../platform/context'
import { FIRST } from '../../platform/databases/directory'
import { isDatabaseAway, nullIfConflict } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import { startOfPage } from '../../platform/scans'
import { findIid, iidsOf } from '../../store/users/users.sql.ts'

/** For how long a user token is valid, in seconds: by default, and at least and at most (K6). */
const TOKEN_SECONDS = HOUR / SECOND
const MIN_TOKEN_SECONDS = MINUTE / SECOND
const MAX_TOKEN_SECONDS = DAY / SECOND

const ScopeField = defaulted(z.enum(KEY_SCOPES), 'write')

/** The scope and the end of an application key (K5). `expires` is null if it does not end. */
const limits = { scope: z.enum(KEY_SCOPES), expires: Timestamp.nullable() }

/** An application key to create. Its user need not exist yet (K3). */
export const CreateApplicationKeyRequestItem = z
  .object({
    userId: UserId,
    scope: ScopeField,
    expires: MomentField.nullish().transform((at) => at ?? null),
  })
  .meta({ id: 'CreateApplicationKeyRequestItem' })

/** A created application key. Only this response shows the key itself. */
export const CreatedApplicationKey = z
  .object({ id: UuidResponse, userId: z.string(), key: z.string(), prefix: z.string(), ...limits })
  .meta({ id: 'CreatedApplicationKey' })

const ApplicationKey = CreatedApplicationKey.omit({ key: true })
  .extend({ created: Timestamp })
  .meta({ id: 'ApplicationKey' })

/** The page of application keys. With `userId`, only keys of that user. */
export const ApplicationKeyListQuery = ListQuery.extend({ userId: UserId.optional() })

export const CreateApplicationKeysRequest = items(CreateApplicationKeyRequestItem).meta({
  id: 'CreateApplicationKeysRequest',
})
export const ListApplicationKeysResponse = z.array(ApplicationKey).meta({ id: 'ListApplicationKeysResponse' })
export const CreateApplicationKeysResponse = createResponse(
  'CreateApplicationKeysResponse',
  CreatedApplicationKey,
)
export const DeleteApplicationKeysResponse = deleteResponse('DeleteApplicationKeysResponse')

/** A user token to make (K6). `ttl` is in seconds. */
export const CreateUserTokenRequest = z
  .object({
    userId: UserId,
    scope: ScopeField,
    ttl: defaulted(wholeNumber(MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS), TOKEN_SECONDS),
  })
  .meta({ id: 'CreateUserTokenRequest' })

/** A new user token. Only this response shows it (K6). */
export const CreatedUserToken = withIssues(
  'CreatedUserToken',
  z.object({ token: z.string(), expires: Timestamp }),
)

/** An admin key to create (K4). */
export const CreateAdminKeyRequestItem = z.object({ name: Name }).meta({ id: 'CreateAdminKeyRequestItem' })

/** A created or rotated admin key. Only this response shows the key itself (K4). */
export const CreatedAdminKey = z
  .object({ id: UuidResponse, name: z.string(), prefix: z.string(), key: z.string(), created: Timestamp })
  .meta({ id: 'CreatedAdminKey' })

const AdminKey = CreatedAdminKey.omit({ key: true }).meta({ id: 'AdminKey' })

export const CreateAdminKeysRequest = items(CreateAdminKeyRequestItem).meta({ id: 'CreateAdminKeysRequest' })
export const ListAdminKeysResponse = z.array(AdminKey).meta({ id: 'ListAdminKeysResponse' })
export const CreateAdminKeysResponse = createResponse('CreateAdminKeysResponse', CreatedAdminKey)
export const DeleteAdminKeysResponse = deleteResponse('DeleteAdminKeysResponse')

const adminKeys = ({ db }: AccountScope): KeyOwner => ({ kind: 'admin', db })

const applicationKeys = ({ db }: Scope): KeyOwner => ({ kind: 'application', db })

type FoundKey = Awaited<ReturnType<typeof keysWithIds>>[number]

/** Admin keys may do everything, for all tenants, and do not end. */
const FOR_ALL = { kind: 'admin', tenantId: null, userId: null, scope: 'write', expires: null } as const

type Item = z.output<typeof CreateApplicationKeysRequest>[number]

const OVER = 'expires must be in the future. Leave it out for a key that does not end.'

const limitsOf = ({ scope, expires }: Pick<KeyRow, 'scope' | 'expires'>) => ({
  scope,
  expires: isoOrNull(expires),
})

/** How long a change of keys waits for the databases of their users, in milliseconds. */
const PATIENCE = 1_000

/** Attempts to rotate a key. An attempt fails only if another request rotates the key meanwhile. */
const TRIES = 10

/** A stored key, and the key itself, which only its creator ever sees (K1). */
type Made = { row: KeyRow; key: string }

async function make(
  scope: AccountScope,
  about: Pick<KeyRow, 'kind' | 'tenantId' | 'userId' | 'name' | 'scope' | 'expires'>,
): Promise<Made> {
  const { prefix, body, key } = newKey(about.kind)
  const row = { ...about, id: newId(scope.now), prefix, hash: await sha256(body), created: scope.now }
  return { row, key }
}

type People = ReadonlyMap<string, string>

/**
 * The users of keys who are not in the database that has the keys. A key never waits for other databases
 * (B4): if one can't be reached, the entries about its users don't name them.
 */
async function peopleOf(
  { databases }: AccountScope,
  owner: KeyOwner,
  keys: readonly Pick<KeyRow, 'userId'>[],
): Promise<People> {
  if (owner.kind === 'admin') return new Map()
  const asked = [...new Set(keys.flatMap(({ userId }) => userId ?? []))]
  try {
    const all = databases
      .usersOf(owner.db.tenantId)
      .askAll(
        async (db, name): Promise<People> =>
          name === FIRST ? new Map() : iidsOf(db, asked).catch(nobodyIfAway),
      )
    return new Map((await within(PATIENCE, all)).flatMap((part) => [...part]))
  } catch (error) {
    logProblem('warn', { error: `users of keys were not found: ${String(error)}` })
    return new Map()
  }
}

function nobodyIfAway(error: unknown): People {
  if (isDatabaseAway(error)) return new Map()
  throw error
}

function entryOf(
  key: Pick<KeyRow, 'id' | 'userId' | 'name' | 'prefix' | 'scope' | 'expires'>,
  action: 'create' | 'delete',
  people: People,
): AuditEntry[] {
  const { id, userId, name, prefix } = key
  const isNew = action === 'create'
  if (userId === null) {
    const shown = { id, name, prefix }
    const change = { before: isNew ? null : shown, after: isNew ? shown : null }
    return entriesOf('admin_key', [change], (key) => key)
  }
  const fields = (isNew ? madeFields : goneFields)({ id, prefix, ...limitsOf(key) })
  // Without an internal id, the statement that stores the entry looks it up.
  const iid = people.get(userId)
  return [userEntry('application_key', action, iid === undefined ? { id: userId } : { iid }, fields)]
}

async function store(scope: AccountScope, owner: KeyOwner, made: readonly Made[]): Promise<void> {
  const rows = made.map(({ row }) => row)
  const people = await peopleOf(scope, owner, rows)
  const entries = rows.flatMap((row) => entryOf(row, 'create', people))
  const stored = await insertKeys(owner, rows, auditEntries(scope, entries)).catch(nullIfConflict)
  if (stored === null) throw errors.tenantUnknown()
  for (const row of rows) rememberKey(scope, row.prefix, recordOf(row))
}

/** A page of application keys, oldest first, without secrets (G7). Throws 429 like any scan (P11). */
export async function listApplicationKeys(
  scope: Scope,
  { userId, ...page }: z.output<typeof ApplicationKeyListQuery>,
): Promise<z.infer<typeof ApplicationKey>[]> {
  const owner = applicationKeys(scope)
  const start = await startOfPage(
    scope,
    {
      name: JSON.stringify(['keys', userId]),
      beginning: [0],
      skip: async (after, rows) => {
        const no = await nthKey(owner, { userId, after: Number(after[0]) }, rows)
        return no === null ? null : [no]
      },
    },
    page,
  )
  if (start === null) return []
  const after = Number(start.after[0])
  const rows = await listKeys(owner, { userId, after }, { limit: page.limit, skip: start.skip })
  return rows.flatMap((row) => {
    const { id, userId, prefix, created } = row
    return userId === null ? [] : [{ id, userId, prefix, ...limitsOf(row), created: iso(created) }]
  })
}

/** Creates application keys of users who may be unknown (K3). A key with a past end is an issue (K5). */
export async function createApplicationKeys(
  scope: Scope,
  items: z.output<typeof CreateApplicationKeysRequest>,
) {
  const tenantId = scope.tenant.id
  const isOver = ({ expires }: Item) => expires !== null && expires <= scope.now
  const issues = items.flatMap((item, index) =>
    isOver(item) ? [{ index, userId: item.userId, severity: 'error' as const, message: OVER }] : [],
  )
  const made = await Promise.all(
    items
      .filter((item) => !isOver(item))
      .map(async (item) => {
        const about = { ...item, kind: 'application', tenantId, name: null } as const
        return { ...(await make(scope, about)), userId: item.userId }
      }),
  )
  if (made.length > 0) await store(scope, applicationKeys(scope), made)
  const created = made.map(({ row, key, userId }) => {
    return { id: row.id, userId, key, prefix: row.prefix, ...limitsOf(row) }
  })
  return { created, issues }
}

/** Deletes application keys of the tenant. They are refused from the next request on (K2). */
export function deleteApplicationKeys(scope: Scope, ids: readonly string[]) {
  return remove(scope, applicationKeys(scope), ids, 'an application key')
}

/** The user of a request for a token; null if it names none. Throws 404 for an unknown user (K6). */
export async function tokenUser({ databases, tenant }: Scope, json: unknown): Promise<TokenUser | null> {
  const named = NamedUser.safeParse(json)
  if (!named.success) return null
  const { userId: id } = named.data
  const iid = await findIid(databases.usersOf(tenant.id).of(id), id)
  if (iid === null) throw errors.userUnknown(id)
  return { tenantId: tenant.id, id, iid }
}

const NamedUser = CreateUserTokenRequest.pick({ userId: true })

/** Makes a token for a user, and stores nothing (K6). Throws 422 without a secret for tokens. */
export async function createUserToken(
  { variables, now }: Scope,
  { userId, scope, ttl }: z.output<typeof CreateUserTokenRequest>,
  user: TokenUser | null,
): Promise<z.infer<typeof CreatedUserToken>> {
  if (user === null) throw errors.userUnknown(userId)
  const { token, expires } = await signUserToken(variables, user, { scope, now, ttl })
  return { token, expires: iso(expires) }
}

/** A page of the admin keys, oldest first, without their secrets (K4, G7). */
export async function listAdminKeys(
  scope: AccountScope,
  query: { limit: number; skip: number },
): Promise<z.infer<typeof AdminKey>[]> {
  const rows = await listKeys(adminKeys(scope), { after: 0 }, query)
  return rows.map(({ id, name, prefix, created }) => {
    return { id, name: name ?? '', prefix, created: iso(created) }
  })
}

/** Creates admin keys (K4). */
export async function createAdminKeys(scope: AccountScope, items: z.output<typeof CreateAdminKeysRequest>) {
  const made = await Promise.all(items.map(({ name }) => make(scope, { ...FOR_ALL, name })))
  await store(scope, adminKeys(scope), made)
  return { created: made.map(({ row, key }) => createdAdminKey(row, key)), issues: [] }
}

const createdAdminKey = (
  { id, name, prefix, created }: Pick<KeyRow, 'id' | 'name' | 'prefix' | 'created'>,
  key: string,
): z.infer<typeof CreatedAdminKey> => ({ id, name: name ?? '', prefix, key, created: iso(created) })

/** Deletes admin keys. They are refused from the next request on (K2, K4). */
export function deleteAdminKeys(scope: AccountScope, ids: readonly string[]) {
  return remove(scope, adminKeys(scope), ids, 'an admin key')
}

/** Gives an admin key a new prefix and secret; the old ones end at once. Throws 404 for no key (K4). */
export async function rotateAdminKey(
  scope: AccountScope,
  id: string,
): Promise<z.infer<typeof CreatedAdminKey>> {
  const { prefix, body, key } = newKey('admin')
  const hash = await sha256(body)
  for (let tries = 0; tries < TRIES; tries += 1) {
    const found = await keysWithIds(adminKeys(scope), [id])
    const [before] = found
    if (before === undefined) throw errors.notFound('This admin key')
    await noteKeys(scope, found)
    const entry = { subject: before.prefix, entry: entryOfRotation(before, prefix) }
    const also = [
      ...auditEntriesIf(scope, [entry], PREFIX_EXISTS),
      ...notingDeletedKeys({ prefixes: [before.prefix] }),
    ]
    // Nobody else knows the new key. So if the answer is lost, look whether it is stored.
    const isReplaced = await replaceKey(scope.db, before, { prefix, hash }, also).catch(async (error) => {
      const [present] = await keysWithIds(adminKeys(scope), [id])
      if (present?.prefix === prefix) return true
      throw error
    })
    if (!isReplaced) continue
    forgetKeys(scope, [before.prefix])
    await refuseKeys(scope, [before.prefix])
    rememberKey(scope, prefix, { ...FOR_ALL, id, hash, name: before.name })
    return createdAdminKey({ ...before, prefix }, key)
  }
  throw errors.unprocessable('Other requests kept rotating this key at the same time. Send it again.')
}

const entryOfRotation = ({ id, prefix: before }: FoundKey, after: string): AuditEntry => ({
  ...{ action: 'rotate', kind: 'admin_key', resourceId: id, key: null, user: null },
  fields: { prefix: { before, after }, secret: HIDDEN },
})

/** Notes that these keys are deleted, so that a restore does not bring them back (M3). */
function noteKeys(scope: AccountScope, found: readonly FoundKey[]): Promise<void> {
  const deletions = found.map(({ prefix }) => ({ kind: 'key' as const, prefix }))
  return tryToNoteDeletions(scope, deletions)
}

async function remove(scope: AccountScope, owner: KeyOwner, ids: readonly string[], what: string) {
  const found = await keysWithIds(owner, ids)
  await noteKeys(scope, found)
  const people = await peopleOf(scope, owner, found)
  const entries = found.flatMap((one) =>
    entryOf(one, 'delete', people).map((entry) => ({ subject: one.id, entry })),
  )
  const also = [
    ...auditEntriesIf(scope, entries, KEY_EXISTS),
    ...notingDeletedKeys({ ids: found.map(({ id }) => id) }),
  ]
  // The other databases must learn of it. So if the answer is lost, look whether the keys are gone.
  const deletedKeys = await deleteKeys(owner, ids, also).catch(async (error) => {
    if (found.length > 0 && (await keysWithIds(owner, ids)).length === 0) return found
    throw error
  })
  const gone = new Map(deletedKeys.map(({ id, prefix }) => [id, prefix]))
  forgetKeys(scope, [...gone.values()])
  await refuseKeys(scope, [...gone.values()])
  const issues = ids.filter((id) => !gone.has(id)).map((id) => unknownIssue(id, what))
  const deleted = ids.filter((id) => gone.has(id)).map((id) => ({ id }))
  return { deleted, issues }
}
