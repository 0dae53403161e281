import type { AuditLogEntry } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useDeferredValue, useMemo } from 'react'
import { messageOf } from '../../api/errors'
import { clientOf, useAdmin } from '../../api/laurel'
import { PagedTable, useCursorPages } from '../../api/paging'
import { useLookups } from '../../resource/lookups'
import { useSignedIn } from '../../session/session-context'
import { textIn, useAddress, withoutEmpty } from '../../ui/address'
import { Button } from '../../ui/button'
import { DetailSheet } from '../../ui/dialog'
import { ChoiceFilter, TextFilter } from '../../ui/filters'
import { formatMoment, Moment } from '../../ui/format'
import { Card, Code, Facts, Notice, Page } from '../../ui/page'
import { Table } from '../../ui/table'
import { nameOr } from '../../ui/text'
import {
  actionOf,
  actorOf,
  changedOf,
  fieldInWords,
  isKind,
  isOfUser,
  KINDS,
  pathOf,
  subjectOf,
  valueText,
} from './words'

/** The texts by which the log is filtered, by their names in the address. */
const TEXTS = [
  { name: 'key', label: 'Key', placeholder: 'weekly-xp' },
  { name: 'actor', label: 'Changed by', placeholder: 'Name or id of a key' },
  { name: 'userId', label: 'User', placeholder: 'ada-1815' },
] as const

export default function AuditLogPage() {
  const { search, text, show, open } = useAddress()
  const wanted = useDeferredValue(search)
  const { kind, log } = wanted
  const { apiKey, tenant } = useSignedIn()
  const isOfAccount = tenant !== null && log === 'account'
  // A client without a tenant reads the log of the account.
  const account = useMemo(() => clientOf(apiKey).admin, [apiKey])
  const ofTenant = useAdmin()
  const reader = isOfAccount ? account : ofTenant
  const filters = withoutEmpty({
    kind: isKind(kind) ? kind : undefined,
    key: textIn(wanted, 'key'),
    actor: textIn(wanted, 'actor'),
    userId: textIn(wanted, 'userId'),
  })
  const query = { ...filters, ...(isOfAccount && { log: 'account' }) }
  const pages = useCursorPages(['/audit-log', 'list', query], (page, signal) =>
    reader.auditLog.list({ ...page, ...filters }, { signal }),
  )
  const isFiltered = Object.keys(filters).length > 0
  const opened = text('entry')
  const listed = pages.data?.find(({ id }) => id === opened)
  // A link may lead to an entry that is not on the pages so far.
  const single = useQuery({
    queryKey: ['/audit-log', 'entry', isOfAccount, opened],
    queryFn: async () => reader.auditLog.list({ id: opened }),
    enabled: opened !== '' && listed === undefined && pages.data !== undefined,
  })
  const entry = listed ?? single.data?.[0]
  return (
    <Page
      name="Audit log"
      intro="Each change of the configuration and of users: the key that made it, its time, and the values before and after. Entries are kept for a year."
    >
      {opened !== '' && entry === undefined && (single.isError || single.data !== undefined) && (
        <Notice tone="warning">
          {single.isError ? messageOf(single.error) : 'There is no such entry. Entries are kept for a year.'}
        </Notice>
      )}
      <Card flush>
        <search>
          <form
            className="flex flex-wrap items-end gap-3 border-b border-line px-5 py-4"
            onSubmit={(event) => event.preventDefault()}
          >
            <ChoiceFilter
              label="Kind"
              value={isKind(kind) ? kind : ''}
              onChoose={(value) => show({ kind: value })}
              none="All kinds"
              options={Object.fromEntries(KINDS)}
            />
            {tenant !== null && (
              <ChoiceFilter
                label="Log"
                value={isOfAccount ? 'account' : ''}
                onChoose={(value) => show({ log: value, entry: '' })}
                none={nameOr(tenant.name, tenant.id)}
                options={{ account: 'Account: tenants and admin keys' }}
              />
            )}
            {TEXTS.map(({ name, ...field }) => (
              <TextFilter
                key={name}
                {...field}
                value={text(name)}
                onType={(value) => show({ [name]: value })}
              />
            ))}
            {isFiltered && (
              <Button look="quiet" onClick={() => show({ kind: '', key: '', actor: '', userId: '' })}>
                Clear
              </Button>
            )}
          </form>
        </search>
        <PagedTable<AuditLogEntry>
          label="Changes"
          pages={pages}
          hrefOf={({ id }) => `/audit-log?${new URLSearchParams({ ...query, entry: id })}`}
          empty={
            isFiltered
              ? { title: 'No such changes', text: 'Change the filters, or clear them. Keys must be whole.' }
              : { title: 'No changes yet', text: 'Each change that you or your servers make appears here.' }
          }
          columns={[
            {
              name: 'Change',
              cell: (one) => (
                <>
                  <span className="line-clamp-2">
                    {actionOf(one)} {subjectOf(one)}
                  </span>
                  <span className="block text-sm font-normal text-quiet sm:hidden">
                    {formatMoment(one.at)}
                  </span>
                </>
              ),
            },
            {
              name: 'Fields',
              cell: (one) => <span className="line-clamp-1 text-quiet">{changedOf(one)}</span>,
              isMinor: true,
            },
            {
              name: 'Changed by',
              cell: (one) => <span className="block max-w-48 truncate">{actorOf(one)}</span>,
              isMinor: true,
            },
            { name: 'Time', cell: ({ at }) => <Moment iso={at} />, isMinor: true },
          ]}
        />
      </Card>
      {entry !== undefined && <EntrySheet entry={entry} onClose={() => open({ entry: '' })} />}
    </Page>
  )
}

/** The things that fields name by their ids. */
const NAMED = { pointsSystemId: 'points', metricId: 'metrics', achievementId: 'achievements' } as const
const isNaming = (field: string): field is keyof typeof NAMED => Object.hasOwn(NAMED, field)

/** One change: who made it, and each field before and after. */
function EntrySheet({ entry, onClose }: { entry: AuditLogEntry; onClose: () => void }) {
  const { at, resourceId, requestId, fields } = entry
  const changes = Object.entries(fields)
  const path = pathOf(entry)
  const lookups = useLookups(['points', 'metrics', 'achievements'])
  /** The value of a field. Ids of configured things have their names. */
  const shown = (name: string, value: unknown): string => {
    const text = valueText(value)
    return typeof value === 'string' && isNaming(name) ? lookups[NAMED[name]].nameOf(text) : text
  }
  return (
    <DetailSheet title={`${actionOf(entry)} ${subjectOf(entry)}`} onClose={onClose}>
      <Facts
        facts={[
          ['Time', <Moment key="at" iso={at} />],
          ['Changed by', actorOf(entry)],
          path === null
            ? null
            : [
                'Page',
                <Link key="path" to={path} className="text-accent underline">
                  {subjectOf(entry)}
                </Link>,
              ],
          resourceId === null ? null : ['Id', <Code key="id">{resourceId}</Code>],
          ['Request', <Code key="request">{requestId}</Code>],
        ]}
      />
      {isOfUser(entry) && (
        <p className="text-quiet">
          The log names users by an internal id only, so that nothing of an erased user stays here. The
          timeline of a user has the same change.
        </p>
      )}
      {changes.length === 0 ? (
        <p className="text-quiet">
          The entry has no fields: nothing was stored with it, or its user was erased.
        </p>
      ) : (
        <Table
          isDense
          label="Changed fields"
          rows={changes.map(([id, change]) => ({ id, ...change }))}
          columns={[
            { name: 'Field', cell: ({ id }) => fieldInWords(id) },
            { name: 'Before', cell: ({ id, before }) => <Value>{shown(id, before)}</Value> },
            { name: 'After', cell: ({ id, after }) => <Value>{shown(id, after)}</Value> },
          ]}
        />
      )}
    </DetailSheet>
  )
}

const Value = ({ children }: { children: string }) => (
  <span className="whitespace-pre-wrap wrap-anywhere">{children}</span>
)
