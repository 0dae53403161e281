import type { AdminKey } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { z } from 'zod'
import { useAdmin } from '../../api/laurel'
import { PagedTable, useSkipPages } from '../../api/paging'
import { AskButton } from '../../resource/confirm-write'
import { FormSheet } from '../../resource/form-sheet'
import { choice, optionalDate, text } from '../../resource/schemas'
import { isListed, named, removing } from '../../resource/writes'
import type { Secret } from '../../session/kept'
import { useAddress } from '../../ui/address'
import { NewButton } from '../../ui/button'
import { Moment, startOf } from '../../ui/format'
import { TypedInput } from '../../ui/labelled'
import { Badge, Card, Code, Page } from '../../ui/page'
import { nameOr, say, userPath } from '../../ui/text'

/** The page of keys. `/api-keys/new` and `/api-keys/new-admin` are the forms of new ones. */
export default function ApiKeysPage() {
  const { action } = useParams({ strict: false })
  const navigate = useNavigate()
  const close = () => navigate({ to: '/api-keys', resetScroll: false })
  return (
    <Page
      name="API keys"
      intro="The server of your product needs an admin key, for example to send events. An application key acts for one user only, so it can be in an app or a browser."
      actions={
        <>
          <NewButton one="application key" to="/api-keys/new" look="plain" />
          <NewButton one="admin key" to="/api-keys/new-admin" />
        </>
      }
    >
      <AdminKeys />
      <ApplicationKeys />
      {action === 'new' && <NewApplicationKey onClose={close} />}
      {action === 'new-admin' && <NewAdminKey onClose={close} />}
    </Page>
  )
}

/** The path of the page, with which the keys of all its reads begin. */
const KEYS = '/api-keys'

/** Keys that may do everything. */
function AdminKeys() {
  const admin = useAdmin()
  const pages = useSkipPages([KEYS, 'admin'], (query) => admin.adminKeys.list(query))
  // Nobody replaces the key of the session: the page would lose its own key, and with it the new one.
  const session = useQuery({ queryKey: [KEYS, 'session'], queryFn: async () => admin.session() })
  return (
    <Card
      title="Admin keys"
      about="For your servers, and for people who sign in here. They may read and change everything."
      flush
    >
      <PagedTable
        label="Admin keys"
        pages={session.data ? pages : { error: session.error, refetch: session.refetch, data: undefined }}
        expected={2}
        empty={{
          title: 'No further admin keys',
          text: 'Only ADMIN_API_KEY of the deployment works now. Create one for each server and person.',
        }}
        columns={[
          { name: 'Name', cell: (key) => <span className="font-medium">{nameOf(key)}</span> },
          { name: 'Begins with', cell: ({ prefix }) => <Code>{prefix}</Code>, isMinor: true },
          { name: 'Created', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
          {
            name: 'Actions',
            isNumber: true,
            cell: (key) =>
              key.id === session.data?.keyId ? (
                <span className="text-sm text-quiet">You are signed in with it</span>
              ) : (
                <span className="inline-flex flex-wrap justify-end gap-2">
                  <RotateButton of={key} />
                  <DeleteButton of={key} />
                </span>
              ),
          },
        ]}
      />
    </Card>
  )
}

/** What the buttons of all keys have. */
const askedFor = (label: string, key: string) =>
  ({
    label,
    button: { isSmall: true, 'aria-label': say`${label} ${key}` },
    path: KEYS,
    confirm: `Confirm: ${label.toLowerCase()} key`,
    isDangerous: true,
  }) as const

/** The name of a key. If it can't be seen, the beginning of the key is. */
const nameOf = ({ name, prefix }: { name: string; prefix: string }) => nameOr(name, prefix)

const RotateButton = ({ of: key }: { of: AdminKey }) => (
  <AskButton
    {...askedFor('Rotate', nameOf(key))}
    title={say`Replace the key ${nameOf(key)}?`}
    write={{
      what: named('key', nameOf(key)),
      did: 'was replaced',
      act: (admin) => admin.adminKeys.rotate(key.id),
      secret: (replaced) => ({
        title: 'The key was replaced',
        label: 'Admin key',
        secret: replaced.key,
        children: say`The new key of ${nameOf(key)}. The old one no longer works.`,
      }),
    }}
  >
    The old key stops working at once. You get a new one with the same name.
  </AskButton>
)

const DeleteButton = ({ of: key }: { of: AdminKey }) => (
  <AskButton
    {...askedFor('Delete', nameOf(key))}
    title={say`Delete the key ${nameOf(key)}?`}
    write={{
      what: named('key', nameOf(key)),
      did: 'was deleted',
      act: removing(
        (admin) => admin.adminKeys.delete({ ids: [key.id] }),
        (admin) => isListed(admin.adminKeys.list(), key.id),
      ),
    }}
  >
    It stops working at once. People who are signed in with it are signed out. This cannot be undone.
  </AskButton>
)

/** A new key, as it is shown once. */
const secretOf = (label: string, whose: string, secret: string): Secret => ({
  title: 'The key was created',
  label,
  secret,
  children: (
    <>
      {say`The key of ${whose}, for the header `}
      <Code>X-API-KEY</Code>.
    </>
  ),
})

const AdminKeyDraft = z.object({ name: text() })

/** The form of a new admin key, and afterwards the key. */
const NewAdminKey = ({ onClose }: { onClose: () => void }) => (
  <FormSheet
    name={`${KEYS}/new-admin`}
    title="New admin key"
    about="It may read and change everything. Give each server and person one of their own."
    path={KEYS}
    fields={[
      {
        kind: 'text',
        name: 'name',
        label: 'Name',
        placeholder: 'Production server',
        hint: 'Says who uses it. The audit log shows it.',
      },
    ]}
    schema={AdminKeyDraft}
    values={{ name: '' }}
    submit="Create key"
    write={(draft) => ({
      what: named('key', draft.name),
      did: 'was created',
      act: (admin) => admin.adminKeys.create([draft]),
      secret: ({ created: [made] }) => made && secretOf('Admin key', nameOf(made), made.key),
    })}
    onClose={onClose}
  />
)

const SCOPES = { write: 'read and write', read: 'only read' } as const

/** Keys that act for one user. */
function ApplicationKeys() {
  const { text, show } = useAddress()
  const userId = text('user')
  const admin = useAdmin()
  const pages = useSkipPages([KEYS, 'application', userId], (query) =>
    admin.applicationKeys.list({ ...query, ...(userId !== '' && { userId }) }),
  )
  return (
    <Card
      title="Application keys"
      about="For browsers and apps. Each acts for one user only, and sees little of others."
      flush
    >
      <div className="px-5 pb-4">
        <TypedInput
          className="max-w-xs"
          aria-label="Keys of the user with the id"
          placeholder="Id of a user"
          maxLength={255}
          value={userId}
          onType={(user) => show({ user })}
        />
      </div>
      <PagedTable
        label="Application keys"
        pages={pages}
        expected={2}
        empty={
          userId === ''
            ? {
                title: 'No application keys yet',
                text: 'Create one to let the browser of a user read points, streaks and leaderboards.',
              }
            : { title: 'No keys of this user', text: 'Check the id. It must be the whole id.' }
        }
        columns={[
          {
            name: 'User',
            cell: ({ userId: id }) => (
              <Link to={userPath(id)} className="font-medium hover:underline">
                {id}
              </Link>
            ),
          },
          { name: 'Scope', cell: ({ scope }) => SCOPES[scope] },
          { name: 'Begins with', cell: ({ prefix }) => <Code>{prefix}</Code>, isMinor: true },
          { name: 'Expires', cell: ({ expires }) => <Expiry expires={expires} />, isMinor: true },
          { name: 'Created', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
          {
            name: 'Actions',
            isNumber: true,
            cell: ({ id, userId, prefix }) => (
              <AskButton
                {...askedFor('Delete', prefix)}
                title={say`Delete the key of ${userId}?`}
                write={{
                  what: say`The key of ${userId}`,
                  did: 'was deleted',
                  act: removing(
                    (admin) => admin.applicationKeys.delete({ ids: [id] }),
                    (admin) => isListed(admin.applicationKeys.list({ userId }), id),
                  ),
                }}
              >
                The key that begins with {prefix} stops working at once. This cannot be undone.
              </AskButton>
            ),
          },
        ]}
      />
    </Card>
  )
}

/** When a key ends. */
function Expiry({ expires }: { expires: string | null }) {
  if (expires === null) return <span className="text-quiet">never</span>
  if (Date.parse(expires) <= Date.now()) return <Badge tone="warning">expired</Badge>
  return <Moment iso={expires} />
}

const ApplicationKeyDraft = z
  .object({ userId: text(), scope: choice(['read', 'write']), lastDay: optionalDate() })
  .transform(({ lastDay, ...draft }) => ({
    ...draft,
    // The end of that day in the viewer's zone.
    expires: lastDay === null ? null : startOf(lastDay, 1).toISOString(),
  }))

/** The form of a new application key, and afterwards the key. */
const NewApplicationKey = ({ onClose }: { onClose: () => void }) => (
  <FormSheet
    name={`${KEYS}/new`}
    title="New application key"
    about="It acts for one user. The user need not exist yet."
    path={KEYS}
    fields={[
      { kind: 'text', name: 'userId', label: 'User id', placeholder: 'user-7' },
      {
        kind: 'choice',
        name: 'scope',
        label: 'Scope',
        options: { read: 'Only read', write: 'Read and write: also sends events' },
        hint: 'Events from a browser can be made up. Let your servers send those that give prizes.',
      },
      {
        kind: 'date',
        name: 'lastDay',
        label: 'Last day',
        isOptional: true,
        hint: 'The key works until the end of this day. Empty: until it is deleted.',
      },
    ]}
    schema={ApplicationKeyDraft}
    values={{ userId: '', scope: 'read', lastDay: '' }}
    submit="Create key"
    write={(draft) => ({
      what: say`The key of ${draft.userId}`,
      did: 'was created',
      act: (admin) => admin.applicationKeys.create([draft]),
      secret: ({ created: [made] }) =>
        made && secretOf('Application key', say`the user ${made.userId}`, made.key),
    })}
    onClose={onClose}
  />
)
