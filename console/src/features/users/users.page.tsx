import type { User } from '@laurel/client'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useAdmin } from '../../api/laurel'
import { PagedTable, useCursorPages } from '../../api/paging'
import { FirstEvent } from '../../resource/first-event'
import { choicesOf, useLookups } from '../../resource/lookups'
import { useAddress } from '../../ui/address'
import { NewButton } from '../../ui/button'
import { Moment } from '../../ui/format'
import { Icon } from '../../ui/icon'
import { TypedInput } from '../../ui/labelled'
import { Badge, Card, Code, Page } from '../../ui/page'
import { Select } from '../../ui/select'
import type { Column } from '../../ui/table'
import { nameOr, say } from '../../ui/text'
import { UserForm } from './user-form'
import { UserPage } from './user-page'
import { NEW_USER, pathOfUser, USERS } from './user-paths'

/** `/users` is the list, `/users/new` the same with the form of a new user, `/users/$id` the page of one. */
export default function UsersPage() {
  const { id, part } = useParams({ strict: false })
  const navigate = useNavigate()
  const isNew = id === 'new' && part === undefined
  if (id !== undefined && !isNew) return <UserPage key={id} id={id} part={part} />
  return (
    <>
      <UserListPage />
      {isNew && <UserForm user={null} onClose={() => navigate({ to: USERS })} />}
    </>
  )
}

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
function UserListPage() {
  const admin = useAdmin()
  const { search, attribute, value } = useWanted()
  const isFiltered = attribute !== '' && value !== ''
  const users = useCursorPages([USERS, 'list', search, attribute, value], (query, signal) =>
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
        <UserFilters />
        <PagedTable
          label="Users"
          columns={COLUMNS}
          pages={users}
          hrefOf={({ id }) => pathOfUser(id)}
          expected={8}
          empty={
            hasNoUsers
              ? {
                  title: 'No users yet',
                  text: 'Users appear here with their first event. You can also create one.',
                  action: create,
                }
              : {
                  title: 'No user fits',
                  text: [
                    search && say`No id, name or email address contains “${search}”.`,
                    isFiltered && 'Try another value of the attribute, or all users.',
                  ]
                    .filter(Boolean)
                    .join(' '),
                }
          }
        />
      </Card>
      {hasNoUsers && <FirstEvent />}
    </Page>
  )
}

/** Which users the address asks for. Empty texts ask for all. */
function useWanted() {
  const { text, show } = useAddress()
  return { search: text('search'), attribute: text('attribute'), value: text('value'), show }
}

/** A search, and the users who have a value of an attribute if there are user attributes. */
function UserFilters() {
  const { search, attribute, value, show } = useWanted()
  const lookups = useLookups(['attributes'])
  const attributes = lookups.attributes.all.filter(({ type }) => type === 'user')
  return (
    <div className="flex flex-wrap gap-3 border-b border-line p-3">
      <div className="relative min-w-60 flex-1">
        <Icon
          name="search"
          size={16}
          className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-quiet"
        />
        <TypedInput
          type="search"
          className="pl-9!"
          aria-label="Search users"
          placeholder="Id, name or email address"
          value={search}
          onType={(typed) => show({ search: typed })}
          maxLength={255}
        />
      </div>
      {attributes.length > 0 && (
        <Select
          className="w-auto! max-w-56"
          aria-label="Filter by attribute"
          value={attribute}
          onChange={({ target }) => show({ attribute: target.value, value: '' })}
          none="All users"
          options={choicesOf(attributes, 'key')}
        />
      )}
      {attributes.length > 0 && attribute !== '' && (
        <TypedInput
          className="w-40!"
          aria-label="Value"
          placeholder="Value, such as pro"
          value={value}
          onType={(typed) => show({ value: typed })}
          maxLength={1000}
        />
      )}
    </div>
  )
}
