import type { AuditLogEntry } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type ComponentProps, useDeferredValue, useMemo } from 'react'
import { messageOf } from '../../api/errors'
import { clientOf, useAdmin } from '../../api/laurel'
import { PagedTable, useCursorPages } from '../../api/paging'
import { useLookups } from '../../resource/lookups'
import { useSignedIn } from '../../session/session-context'
import { Button } from '../../ui/button'
import { DetailSheet } from '../../ui/dialog'
import { formatMoment, Moment } from '../../ui/format'
import { Labelled, TypedInput } from '../../ui/labelled'
import { Card, Code, Facts, Notice, Page } from '../../ui/page'
import { Select } from '../../ui/select'
import { Table } from '../../ui/table'
import { nameOr, trimmed } from '../../ui/text'
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

/** The parts of the page's address: the filters, and the entry that is open. */
type Shown = { kind?: string; key?: string; actor?: string; userId?: string; log?: string; entry?: string }

/** The parts of an address that have a value. */
const given = (shown: Shown): Shown =>
  Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined && value !== ''))

export default function AuditLogPage() {
  const shown: Shown = useSearch({ strict: false })
  const navigate = useNavigate()
  const { entry: open, ...filters } = shown
  const { kind, log, ...texts } = useDeferredValue(filters)
  const [key, actor, userId] = [text(texts.key), text(texts.actor), text(texts.userId)]
  const { apiKey, tenant } = useSignedIn()
  const isOfAccount = tenant !== null && log === 'account'
  // A client without a tenant reads the log of the account.
  const account = useMemo(() => clientOf(apiKey).admin, [apiKey])
  const ofTenant = useAdmin()
  const reader = isOfAccount ? account : ofTenant
  const show = (changes: Shown) =>
    navigate({ to: '/audit-log', search: given({ ...shown, ...changes }), resetScroll: false, replace: true })
  const query = given({
    kind: isKind(kind) ? kind : '',
    ...{ key, actor, userId },
    log: isOfAccount ? 'account' : '',
  })
  const pages = useCursorPages(['/audit-log', 'list', query], (page, signal) =>
    reader.auditLog.list(
      {
        ...page,
        ...(isKind(kind) && { kind }),
        ...(key !== '' && { key }),
        ...(actor !== '' && { actor }),
        ...(userId !== '' && { userId }),
      },
      { signal },
    ),
  )
  const isFiltered = Object.keys(query).some((name) => name !== 'log')
  const listed = pages.data?.find(({ id }) => id === open)
  // A link may lead to an entry that is not on the pages so far.
  const single = useQuery({
    queryKey: ['/audit-log', 'entry', isOfAccount, open],
    queryFn: async () => reader.auditLog.list({ id: open ?? '' }),
    enabled: open !== undefined && listed === undefined && pages.data !== undefined,
  })
  const entry = listed ?? single.data?.[0]
  return (
    <Page
      name="Audit log"
      intro="Each change of the configuration and of users: the key that made it, its time, and the values before and after. Entries are kept for a year."
    >
      {open !== undefined && entry === undefined && (single.isError || single.data !== undefined) && (
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
              onChange={({ target }) => show({ kind: target.value })}
              none="All kinds"
              options={Object.fromEntries(KINDS)}
            />
            {tenant !== null && (
              <ChoiceFilter
                label="Log"
                value={isOfAccount ? 'account' : ''}
                onChange={({ target }) => show({ log: target.value, entry: '' })}
                none={nameOr(tenant.name, tenant.id)}
                options={{ account: 'Account: tenants and admin keys' }}
              />
            )}
            <TextFilter
              label="Key"
              placeholder="weekly-xp"
              value={text(shown.key)}
              onType={(value) => show({ key: value })}
            />
            <TextFilter
              label="Changed by"
              placeholder="Name or id of a key"
              value={text(shown.actor)}
              onType={(value) => show({ actor: value })}
            />
            <TextFilter
              label="User"
              placeholder="ada-1815"
              value={text(shown.userId)}
              onType={(value) => show({ userId: value })}
            />
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
      {entry !== undefined && (
        <EntrySheet
          entry={entry}
          onClose={() => navigate({ to: '/audit-log', search: query, resetScroll: false })}
        />
      )}
    </Page>
  )
}

/** A part of the address as text. The router reads numbers as numbers. */
const text = (part: unknown): string => (part === undefined || part === null ? '' : trimmed(String(part)))

const ChoiceFilter = ({ label, ...props }: ComponentProps<typeof Select> & { label: string }) => (
  <div className="min-w-0 flex-1 basis-44">
    <Labelled label={label}>{(tied) => <Select {...tied} {...props} />}</Labelled>
  </div>
)

/** A text by which the log is filtered. */
const TextFilter = ({ label, ...props }: ComponentProps<typeof TypedInput> & { label: string }) => (
  <div className="min-w-0 flex-1 basis-40">
    <Labelled label={label}>{(tied) => <TypedInput {...tied} {...props} />}</Labelled>
  </div>
)

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
