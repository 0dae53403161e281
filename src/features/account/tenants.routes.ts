import * as z from 'zod'
import { tryToNoteDeletions } from '../../access/deleted-keys'
import * as repository from '../../access/tenants.sql.ts'
import { IMPLICIT_TENANT_ID, type TenantRow } from '../../access/tenants.sql.ts'
import { accepted, type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import {
  createResponse,
  deleteResponse,
  items,
  Name,
  optional,
  Timestamp,
  Uuid,
  UuidResponse,
  updateResponse,
} from '../../api/fields'
import { type Issue, issueOf, unknownIssue } from '../../api/resources/drafts.rules'
import { BY_ID, resourceEndpoints } from '../../api/resources/endpoints'
import { type AuditEntry, fieldChanges } from '../../configuration/audit.rules'
import { auditEntriesIf } from '../../configuration/audit.sql.ts'
import { changeTenants } from '../../configuration/copies'
import { iso } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { isId } from '../../lib/ids'
import { MOST_ID_CHARACTERS } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { AccountScope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { placementsOfNew } from '../../platform/databases/directory'
import { wakeForPurge } from '../../time/timekeeper'
import { beginPurge, stopDeliveryQueues } from './purge'

/** A customer's id of a tenant fits in a header: no control characters, no spaces at its ends (T2). */
const CustomerId = z
  .string()
  .min(1)
  .max(MOST_ID_CHARACTERS)
  .refine((id) => !/\p{Cc}/u.test(id), 'must have no control characters')
  .refine((id) => id === id.trim(), 'must not begin or end with a space')

const CreateTenantRequestItem = z
  .object({ customerId: CustomerId, name: Name })
  .meta({ id: 'CreateTenantRequestItem' })

const UpdateTenantRequestItem = z
  .object({ id: Uuid, customerId: optional(CustomerId), name: optional(Name) })
  .meta({ id: 'UpdateTenantRequestItem' })

/** A tenant. A deleted tenant is archived for good (T3). `purging`: it is being erased. */
const AdminTenant = z
  .object({
    id: UuidResponse,
    customerId: z.string(),
    name: z.string(),
    status: z.enum(['active', 'archived']),
    purging: z.boolean().optional(),
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'AdminTenant' })

const CreateTenantsRequest = items(CreateTenantRequestItem).meta({ id: 'CreateTenantsRequest' })
const UpdateTenantsRequest = items(UpdateTenantRequestItem).meta({ id: 'UpdateTenantsRequest' })

/** A purge needs `purge=true`. Without it, nothing happens. */
const PurgeQuery = z.object({
  purge: z
    .custom<'true'>((text) => text === 'true', {
      error:
        'must be true: this erases an archived tenant for good. DELETE /tenants?ids= archives an active one',
    })
    .meta({ type: 'boolean', enum: [true] }),
})

type TenantResponse = z.infer<typeof AdminTenant>

/** Throws 422 unless multi-tenancy is on: there is nothing to manage about one implicit tenant (T1). */
function requireTenants({ variables }: AccountScope): void {
  if (variables.MULTI_TENANCY === 'on') return
  throw errors.unprocessable(
    'Multi-tenancy is off, so there are no tenants to manage. Set the variable MULTI_TENANCY to on.',
  )
}

async function listTenants(
  { db }: AccountScope,
  query: { limit: number; skip: number },
): Promise<TenantResponse[]> {
  return (await repository.listTenants(db, query)).map(tenantResponse)
}

async function findTenant(scope: AccountScope, id: string): Promise<TenantResponse> {
  requireTenants(scope)
  const [found] = isId(id) ? await repository.findTenants(scope.db, [id.toLowerCase()]) : []
  if (found === undefined) throw errors.notFound('This tenant')
  return tenantResponse(found)
}

/** Creates tenants. An issue if `customerId` is an active tenant's, or another tenant's UUID (G5, T2). */
async function createTenants(
  scope: AccountScope,
  items: z.output<typeof CreateTenantsRequest>,
): Promise<{ created: TenantResponse[]; issues: Issue[] }> {
  const { db, now } = scope
  const asked = items.map((item) => ({ ...item, id: newId(now) }))
  const placements = await placementsOfNew(scope.databases, idsOf(asked))
  const beside = [...createdEntries(scope, asked), ...placements]
  const stored = await repository.insertTenants(db, asked, now, beside)
  return {
    created: asked.flatMap(({ id }) => stored.find((row) => row.id === id) ?? []).map(tenantResponse),
    issues: asked.flatMap(({ id, customerId }, index) =>
      stored.some((row) => row.id === id) ? [] : [issueOf({ index }, taken(customerId))],
    ),
  }
}

async function updateTenants(
  scope: AccountScope,
  items: z.output<typeof UpdateTenantsRequest>,
): Promise<{ updated: TenantResponse[]; issues: Issue[] }> {
  const { db, now } = scope
  const ids = items.map(({ id }) => id)
  const known = await repository.findTenants(db, ids)
  const changes = items.map((item) => ({ ...item, before: updatedEntry(scope, known, item) }))
  const stored = await changeTenants(scope.databases, idsOf(known), (around) =>
    repository.updateTenants(db, changes, now, around),
  )
  const updated: TenantResponse[] = []
  const issues: Issue[] = []
  for (const [index, { id, customerId = '' }] of items.entries()) {
    const row = stored[index]
    if (row) updated.push(tenantResponse(row))
    else {
      const isActive = known.some((one) => one.id === id && one.status === 'active')
      issues.push(isActive ? issueOf({ id }, taken(customerId)) : notActive(id, known))
    }
  }
  return { updated, issues }
}

/** Archives tenants for good: keys and work stop with the next request, and their data stays (T3). */
async function archiveTenants(scope: AccountScope, ids: readonly string[]) {
  const { db, now } = scope
  const known = await repository.findTenants(db, ids)
  const active = known.filter(({ id, status }) => status === 'active' && id !== IMPLICIT_TENANT_ID)
  const their = idsOf(active)
  const audit = archivedEntries(scope, active)
  const archived = new Set(
    await changeTenants(scope.databases, their, ({ before, after }) =>
      repository.archiveTenants(db, their, now, [...before, ...audit], after),
    ),
  )
  const issues = ids
    .filter((id) => !archived.has(id))
    .map((id) =>
      id === IMPLICIT_TENANT_ID && known.length > 0
        ? issueOf({ id }, 'This tenant existed before multi-tenancy, and cannot be archived. Keep it.')
        : notActive(id, known),
    )
  return { deleted: ids.filter((id) => archived.has(id)).map((id) => ({ id })), issues }
}

/**
 * Accepts the erasure of an archived tenant. From then on nothing of the tenant is delivered, and its keys
 * don't work. The Timekeeper does the rest in steps; the first step runs before the response. Returns the
 * tenant after the change. Throws 404 if there is none, 422 if it is not archived.
 */
async function purgeTenant(scope: AccountScope, found: TenantResponse): Promise<TenantResponse> {
  const tenantId = found.id
  if (tenantId === IMPLICIT_TENANT_ID) {
    throw errors.unprocessable(
      'This tenant existed before multi-tenancy, and cannot be erased. Erase its users one by one.',
    )
  }
  // Only a restore makes an archived tenant active again.
  if (found.status === 'active') {
    throw errors.unprocessable(
      `The tenant ${tenantId} is active. Archive it first with DELETE /tenants?ids=${tenantId}. Then send this request again.`,
    )
  }
  await tryToNoteDeletions(scope, [{ kind: 'tenant', tenantId }])
  const entry = tenantEntry('purge', found, {})
  const audit = auditEntriesIf(scope, [{ subject: tenantId, entry }], repository.TENANT_ARCHIVED)
  if (!(await beginPurge(scope, tenantId, scope.now, audit))) throw errors.notFound('This tenant')
  await stopDeliveryQueues({ ...scope, db: scope.db.of(tenantId) })
  await wakeForPurge(scope, tenantId)
  return { ...found, status: 'archived', purging: true }
}

const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id)

type Known = Pick<TenantRow, 'id' | 'customerId' | 'name'>

function createdEntries(scope: AccountScope, made: readonly Known[]): Statement[] {
  const entries = made.map((tenant) => {
    const { customerId, name } = tenant
    const fields = fieldChanges(null, { customerId, name, status: 'active' })
    return { subject: tenant.id, entry: tenantEntry('create', tenant, fields) }
  })
  return auditEntriesIf(scope, entries, repository.TENANT_EXISTS)
}

function updatedEntry(
  scope: AccountScope,
  known: readonly Known[],
  change: repository.TenantChange,
): Statement[] {
  const tenant = known.find(({ id }) => id === change.id)
  if (tenant === undefined) return []
  const entry = tenantEntry('update', tenant, {})
  const subject = repository.changeSubject(change)
  return auditEntriesIf(scope, [{ subject, entry }], repository.TENANT_CHANGES, repository.TENANT_FIELDS)
}

function archivedEntries(scope: AccountScope, known: readonly Known[]): Statement[] {
  const fields = { status: { before: 'active', after: 'archived' } }
  const entries = known.map((tenant) => ({
    subject: tenant.id,
    entry: tenantEntry('archive', tenant, fields),
  }))
  return auditEntriesIf(scope, entries, repository.TENANT_ACTIVE)
}

/** An entry of the audit log about a tenant. Its key is the `customerId`. */
const tenantEntry = (
  action: AuditEntry['action'],
  { id, customerId }: Pick<Known, 'id' | 'customerId'>,
  fields: AuditEntry['fields'],
): AuditEntry => ({ action, kind: 'tenant', resourceId: id, key: customerId, user: null, fields })

const taken = (customerId: string) =>
  `Another tenant already uses ${JSON.stringify(customerId)} as its customerId or id. Choose another customerId.`

function notActive(id: string, known: readonly TenantRow[]): Issue {
  const found = known.find((one) => one.id === id)
  if (found === undefined) return unknownIssue(id, 'a tenant')
  if (found.status === 'purging')
    return issueOf({ id }, `The tenant ${id} is being erased. Create a new one.`)
  return issueOf({ id }, `The tenant ${id} is archived and can't be changed. Create a new one.`)
}

function tenantResponse({ created, updated, status, ...rest }: TenantRow): TenantResponse {
  const isPurging = status === 'purging'
  return {
    ...rest,
    status: status === 'active' ? 'active' : 'archived',
    ...(isPurging && { purging: true }),
    created: iso(created),
    updated: iso(updated),
  }
}

/** The endpoints that manage tenants, in the order of the OpenAPI document. They need multi-tenancy (T2). */
export const tenantEndpoints: readonly Endpoint[] = [
  ...resourceEndpoints(
    {
      id: 'admin_tenants',
      path: '/tenants',
      one: 'a tenant',
      many: 'tenants',
      names: BY_ID,
      item: AdminTenant,
      list: z.array(AdminTenant).meta({ id: 'ListTenantsResponse' }),
      create: CreateTenantsRequest,
      created: createResponse('CreateTenantsResponse', AdminTenant),
      update: UpdateTenantsRequest,
      updated: updateResponse('UpdateTenantsResponse', AdminTenant),
      deleted: deleteResponse('DeleteTenantsResponse'),
      account: true,
    },
    {
      stage: { find: requireTenants },
      list: listTenants,
      create: createTenants,
      update: async (scope, body) => ok(await updateTenants(scope, body)),
      remove: (scope, { ids }) => archiveTenants(scope, ids),
      get: async (scope, param) => ok(await findTenant(scope, param('id'))),
    },
  ),
  endpointsOf('admin')(
    'DELETE /tenants/{id}',
    {
      id: 'admin_tenants_purge',
      account: true,
      summary: 'Erase an archived tenant with all its data and all its users',
      params: z.object({ id: Uuid }),
      query: PurgeQuery,
      responses: {
        202: {
          description: 'Laurel is erasing the tenant. When this is done, the tenant is 404.',
          body: AdminTenant,
        },
      },
    },
    { find: (scope, param) => findTenant(scope, param('id')) },
    async (scope, _input, found) => accepted(await purgeTenant(scope, found), {}),
  ),
]
