/** What others have changed since a form or a page was opened (G15). Nothing of it is overwritten unseen. */
import type { AuditLogEntry } from '@laurel/client'
import { type Query, type QueryClient, useQuery } from '@tanstack/react-query'
import { type FieldValues, get } from 'react-hook-form'
import { type Tagged, useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { intoView } from '../ui/dialog'
import { formatMoment } from '../ui/format'
import { Facts } from '../ui/page'
import { nameOr, say } from '../ui/text'
import type { Lookups } from './lookups'
import { fieldInWords } from './parts'
import type { Admin, Field } from './resource'

/** Something that others may change too, as it was read last. */
export type Stored<Values = FieldValues, Item extends object = object> = {
  item: Tagged<Item> & { id?: string; key?: string }
  /** The keys of its reads begin with it. */
  queryKey: readonly string[]
  /** It as a form has it. */
  valuesOf(item: Item): Values
  /** Its kind in the audit log, if it has no key there. */
  kind?: 'settings' | 'streak_settings'
}

/** Reads it again. Everything that shows it then shows it as it is. Throws if it is gone. */
export async function readAgain<Item extends object>(
  queries: QueryClient,
  stored: Stored<FieldValues, Item>,
): Promise<Stored<FieldValues, Item>> {
  const { queryKey, item } = stored
  const filters = { queryKey, predicate: ({ state }: Query) => Object(state.data).id === item.id }
  await queries.refetchQueries(filters, { throwOnError: true })
  const [[, now] = []] = queries.getQueriesData<typeof item>(filters)
  return { ...stored, item: now ?? item }
}

export const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The fields that have another value now than people have seen, and than they have entered. */
export const changedFields = (fields: readonly Field[], seen: object, entered: object, now: object) =>
  fields.filter(
    ({ name }) => !isSame(get(now, name), get(seen, name)) && !isSame(get(now, name), get(entered, name)),
  )

/** The changes of something by the audit log, newest first. */
async function changesOf(admin: Admin, { item, kind }: Stored): Promise<AuditLogEntry[]> {
  const { id = null, key } = item
  const entries = await admin.auditLog.list({ limit: 25, ...(kind && { kind }), ...(key && { key }) })
  return entries.filter(({ resourceId }) => resourceId === id)
}

/** A value as the log keeps it: without the end of a long text, and without what follows `?` in an address. */
const gist = (value: unknown) =>
  JSON.stringify(value ?? null)
    .slice(0, 1000)
    .replaceAll(/[?#][^"]*/g, '')

/** Who gave a field its present value, and when. Undefined if the log does not say it. */
function authorOf(entries: readonly AuditLogEntry[], name: string, item: object): string | undefined {
  const [field = ''] = name.split('.')
  const [newest] = entries
  const isIt = ({ fields }: AuditLogEntry) => gist(fields[field]?.after) === gist(get(item, field))
  const found = field in item ? entries.find((entry) => field in entry.fields && isIt(entry)) : newest
  return found && say`${nameOr(found.actor.name, found.actor.keyId ?? 'unknown')}, ${formatMoment(found.at)}`
}

/** Fields with the values before and now, and who changed them and when, in words. */
function compared(
  fields: readonly Field[],
  before: FieldValues,
  { valuesOf, item }: Stored,
  lookups: Lookups,
  entries: readonly AuditLogEntry[],
) {
  return fields.map((field) => ({
    ...{ name: field.name, label: field.label, by: authorOf(entries, field.name, item) },
    before: fieldInWords(field, before, lookups) || '–',
    now: fieldInWords(field, valuesOf(item), lookups) || '–',
  }))
}

/** The same in sentences. */
export async function changesInWords(
  fields: readonly Field[],
  before: FieldValues,
  stored: Stored,
  lookups: Lookups,
  admin: Admin,
): Promise<string> {
  const entries = await changesOf(admin, stored).catch(() => [])
  return compared(fields, before, stored, lookups, entries)
    .map(
      ({ label, before, now, by }) => say`${label}: before “${before}”, now “${now}”${by ? ` (${by})` : ''}.`,
    )
    .join(' ')
}

/** The fields of a form that were changed meanwhile, with both values, and a button that takes the new one. */
export function Meanwhile({
  changed,
  mine,
  stored,
  lookups,
  onTake,
}: {
  changed: readonly Field[]
  mine: FieldValues
  stored: Stored
  lookups: Lookups
  onTake: (name: string) => void
}) {
  const admin = useAdmin()
  const { data: entries = [] } = useQuery({
    queryKey: ['/audit-log', 'about', stored.kind ?? stored.item.id, stored.item.etag],
    queryFn: () => changesOf(admin, stored),
  })
  return (
    <section
      ref={intoView}
      aria-label="Changed meanwhile"
      className="flex flex-col gap-4 rounded-md bg-warning-soft p-4"
    >
      <p role="alert" className="font-medium">
        This was changed meanwhile. Take what is new, or save your values over it.
      </p>
      {compared(changed, mine, stored, lookups, entries).map(({ name, label, before, now, by }) => (
        <fieldset key={name} className="flex min-w-0 flex-col items-start gap-2">
          <legend className="mb-1 font-medium">{label}</legend>
          <div className="max-h-64 overflow-y-auto whitespace-pre-wrap wrap-anywhere">
            <Facts
              facts={[
                ['In this form', before],
                ['Stored now', now],
                by === undefined ? null : ['Changed by', by],
              ]}
            />
          </div>
          <Button isSmall aria-label={`Take the new value: ${label}`} onClick={() => onTake(name)}>
            Take the new value
          </Button>
        </fieldset>
      ))}
    </section>
  )
}
