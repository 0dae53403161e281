import type { User } from '@laurel/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useCursorPages } from '../../api/cursor-pages'
import { messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { useLookups } from '../../resource/lookups'
import { Button } from '../../ui/button'
import { Moment } from '../../ui/format'
import { NewButton } from '../../ui/new-button'
import { Badge, Card, Code, Empty, Notice, Page } from '../../ui/page'
import { SendEvent } from '../../ui/send-event'
import { type Column, Table } from '../../ui/table'
import { nameOr, trimmed } from '../../ui/text'
import { NEW_USER, pathOfUser, USERS } from './user-paths'

/** How long the list waits for the next letter of a search, in milliseconds. */
const PATIENCE = 250

const COLUMNS: readonly Column<User>[] = [
  {
    name: 'Name',
    cell: ({ id, name, control }) => (
      <span className="flex items-center gap-2">
        <span className="line-clamp-2">{nameOr(name, id)}</span>
        {control && <Badge>control group</Badge>}
      </span>
    ),
  },
  { name: 'Id', cell: ({ id }) => <Code>{id}</Code>, isMinor: true },
  {
    name: 'Email',
    cell: ({ email }) => <span className="line-clamp-1 text-quiet">{email ?? '–'}</span>,
    isMinor: true,
  },
  { name: 'First seen', cell: ({ created, tz }) => <Moment iso={created} zone={tz} />, isMinor: true },
]

/** All users, oldest first, or those that a search finds. */
export function UserListPage() {
  const admin = useAdmin()
  const wanted = wantedIn(useSearch({ strict: false }))
  const { search, attribute, value } = wanted
  const isFiltered = attribute !== '' && value !== ''
  const users = useCursorPages([USERS, 'list', wanted], (query, signal) =>
    admin.users.list(
      {
        ...query,
        ...(search !== '' && { search }),
        ...(isFiltered && { userAttributes: { [attribute]: value } }),
      },
      { signal },
    ),
  )
  const hasNoUsers = users.data?.length === 0 && search === '' && !isFiltered
  const create = <NewButton one="user" to={NEW_USER} />
  return (
    <Page
      name="Users"
      intro="Everyone who uses your product. A user appears with their first event."
      actions={!hasNoUsers && create}
    >
      <Card flush>
        <div className="flex flex-wrap gap-3 border-b border-line p-3">
          <SearchField wanted={wanted} />
          <AttributeFilter wanted={wanted} />
        </div>
        {users.isError ? (
          <div className="p-5">
            <Notice tone="danger" action={<Button onClick={() => users.refetch()}>Try again</Button>}>
              {messageOf(users.error)}
            </Notice>
          </div>
        ) : users.data?.length === 0 ? (
          hasNoUsers ? (
            <NoUsers create={create} />
          ) : (
            <Empty title="No user fits">
              {search !== '' && <p>No id, name or email address contains “{search}”.</p>}
              {isFiltered && <p>Try another value of the attribute, or all users.</p>}
            </Empty>
          )
        ) : (
          <Table
            label="Users"
            columns={COLUMNS}
            rows={users.data}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => pathOfUser(id)}
            expected={8}
          />
        )}
        {users.hasNextPage && (
          <div className="border-t border-line p-3 text-center">
            <Button look="quiet" isBusy={users.isFetchingNextPage} onClick={() => users.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </Card>
    </Page>
  )
}

/** Says how the first user appears: with an event. */
function NoUsers({ create }: { create: ReactNode }) {
  const { metrics } = useLookups(['metrics'])
  const [metric] = metrics.all
  return (
    <>
      <Empty title="No users yet" action={create}>
        Users appear here with their first event. You can also create one.
      </Empty>
      {metric !== undefined && (
        <div className="border-t border-line p-5">
          <SendEvent metricKey={metric.key} />
        </div>
      )}
    </>
  )
}

/** Which users the address asks for. Empty texts ask for all. */
type Wanted = { search: string; attribute: string; value: string }

/** The address may have a number where a text looks like one. */
const wantedIn = ({ search, attribute, value }: Readonly<Record<string, unknown>>): Wanted => ({
  search: String(search ?? ''),
  attribute: String(attribute ?? ''),
  value: String(value ?? ''),
})

/** Changes which users are shown. The choice is part of the address. */
function useShow() {
  const navigate = useNavigate()
  return (change: Partial<Wanted>) =>
    navigate({
      to: USERS,
      search: (now: Readonly<Record<string, unknown>>) =>
        Object.fromEntries(Object.entries({ ...wantedIn(now), ...change }).filter(([, text]) => text !== '')),
      replace: true,
      resetScroll: false,
    })
}

/** A text that becomes part of the address a moment after it was typed. */
function useTyped(given: string, show: (text: string) => void) {
  const [typed, setTyped] = useState(given)
  const sent = useRef(given)
  useEffect(() => {
    // The address may lag behind what was typed since.
    if (given !== sent.current) setTyped(given)
    sent.current = given
  }, [given])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing begins the wait again.
  useEffect(() => {
    const text = trimmed(typed)
    if (text === trimmed(given)) return
    const timer = setTimeout(() => {
      sent.current = text
      show(text)
    }, PATIENCE)
    return () => clearTimeout(timer)
  }, [typed, given])
  return [typed, setTyped] as const
}

function SearchField({ wanted }: { wanted: Wanted }) {
  const show = useShow()
  const [typed, setTyped] = useTyped(wanted.search, (search) => show({ search }))
  return (
    <div className="relative min-w-60 flex-1">
      <Search
        size={16}
        aria-hidden="true"
        className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-quiet"
      />
      <input
        type="search"
        className="control pl-9!"
        aria-label="Search users"
        placeholder="Id, name or email address"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
      />
    </div>
  )
}

/** Keeps the users who have a value of an attribute. Without user attributes there is nothing to choose. */
function AttributeFilter({ wanted }: { wanted: Wanted }) {
  const show = useShow()
  const lookups = useLookups(['attributes'])
  const attributes = lookups.attributes.all.filter(({ type }) => type === 'user')
  const [typed, setTyped] = useTyped(wanted.value, (value) => show({ value }))
  if (attributes.length === 0) return null
  return (
    <div className="flex flex-wrap gap-3">
      <select
        className="control w-auto! max-w-56"
        aria-label="Filter by attribute"
        value={wanted.attribute}
        onChange={({ target }) => show({ attribute: target.value, value: '' })}
      >
        <option value="">All users</option>
        {attributes.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
      {wanted.attribute !== '' && (
        <input
          className="control w-40!"
          aria-label="Value"
          placeholder="Value, such as pro"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          autoComplete="off"
          maxLength={1000}
        />
      )}
    </div>
  )
}
