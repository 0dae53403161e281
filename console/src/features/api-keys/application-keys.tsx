import { Link } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { z } from 'zod'
import { AskButton } from '../../resource/ask-button'
import { FormSheet } from '../../resource/form-sheet'
import { choice, optionalDate, text } from '../../resource/schemas'
import { Moment } from '../../ui/format'
import { PlainInput } from '../../ui/labelled'
import { Badge, Card, Code } from '../../ui/page'
import { say, userPath } from '../../ui/text'
import { KEYS, KeysList } from './keys-list'

const SCOPES = { write: 'read and write', read: 'only read' } as const

/** Keys that act for one user. */
export function ApplicationKeys() {
  const [user, setUser] = useState('')
  const userId = useDeferredValue(user.trim())
  return (
    <Card
      title="Application keys"
      about="For browsers and apps. Each acts for one user only, and sees little of others."
      flush
    >
      <KeysList
        label="Application keys"
        queryKey={['application', userId]}
        list={(admin, query) => admin.applicationKeys.list({ ...query, ...(userId !== '' && { userId }) })}
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
          {
            name: 'Expires',
            cell: ({ expires }) => <Expiry expires={expires} />,
            isMinor: true,
          },
          { name: 'Created', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
          {
            name: 'Actions',
            isNumber: true,
            cell: ({ id, userId, prefix }) => (
              <AskButton
                label="Delete"
                button={{ isSmall: true, 'aria-label': `Delete ${prefix}` }}
                path={KEYS}
                title={say`Delete the key of ${userId}?`}
                confirm="Confirm: delete key"
                isDangerous
                write={{
                  what: say`The key of ${userId}`,
                  did: 'was deleted',
                  act: (admin) => admin.applicationKeys.delete({ ids: [id] }),
                }}
              >
                The key that begins with {prefix} stops working at once. This cannot be undone.
              </AskButton>
            ),
          },
        ]}
      >
        <div className="px-5 pb-4">
          <PlainInput
            className="max-w-xs"
            aria-label="Keys of the user with the id"
            placeholder="Id of a user"
            value={user}
            onChange={({ target }) => setUser(target.value)}
          />
        </div>
      </KeysList>
    </Card>
  )
}

/** When a key ends. */
function Expiry({ expires }: { expires: string | null }) {
  if (expires === null) return <span className="text-quiet">never</span>
  if (Date.parse(expires) <= Date.now()) return <Badge tone="warning">expired</Badge>
  return <Moment iso={expires} />
}

/** The end of a day in the viewer's zone, as the interface takes it. */
const endOf = (date: string) => {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  return new Date(year, month - 1, day + 1).toISOString()
}

const Draft = z
  .object({ userId: text(), scope: choice(['read', 'write']), lastDay: optionalDate() })
  .transform(({ lastDay, ...draft }) => ({
    ...draft,
    expires: lastDay === null ? null : endOf(lastDay),
  }))

/** The form of a new application key, and afterwards the key. */
export const NewApplicationKey = ({ onClose }: { onClose: () => void }) => (
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
    schema={Draft}
    values={{ userId: '', scope: 'read', lastDay: '' }}
    submit="Create key"
    write={(draft) => ({
      what: say`The key of ${draft.userId}`,
      did: 'was created',
      act: (admin) => admin.applicationKeys.create([draft]),
      secret: ({ created: [made] }) =>
        made && {
          title: 'The key was created',
          label: 'Application key',
          secret: made.key,
          children: (
            <>
              The key of the user {made.userId}, for the header <Code>X-API-KEY</Code>.
            </>
          ),
        },
    })}
    onClose={onClose}
  />
)
