import type { AdminKey } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { useAdmin } from '../../api/laurel'
import { AskButton } from '../../resource/ask-button'
import { FormSheet } from '../../resource/form-sheet'
import { text } from '../../resource/schemas'
import { named } from '../../resource/writes'
import { Moment } from '../../ui/format'
import { Card, Code } from '../../ui/page'
import { say } from '../../ui/text'
import { KEYS, KeysList } from './keys-list'

/** Keys that may do everything. */
export function AdminKeys() {
  const admin = useAdmin()
  // Nobody replaces the key of the session: the page would lose its own key, and with it the new one.
  const session = useQuery({ queryKey: [KEYS, 'session'], queryFn: async () => admin.session() })
  return (
    <Card
      title="Admin keys"
      about="For your servers, and for people who sign in here. They may read and change everything."
      flush
    >
      <KeysList
        label="Admin keys"
        queryKey={['admin']}
        list={(admin, query) => admin.adminKeys.list(query)}
        empty={{
          title: 'No further admin keys',
          text: 'Only ADMIN_API_KEY of the deployment works now. Create one for each server and person.',
        }}
        columns={[
          { name: 'Name', cell: ({ name }) => <span className="font-medium">{name}</span> },
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

const RotateButton = ({ of: { id, name } }: { of: AdminKey }) => (
  <AskButton
    label="Rotate"
    button={{ isSmall: true, 'aria-label': `Rotate ${name}` }}
    path={KEYS}
    title={say`Replace the key ${name}?`}
    confirm="Confirm: rotate key"
    isDangerous
    write={{
      what: named('key', name),
      did: 'was replaced',
      act: (admin) => admin.adminKeys.rotate(id),
      secret: ({ key }) => ({
        title: 'The key was replaced',
        label: 'Admin key',
        secret: key,
        children: `The new key of ${name}. The old one no longer works.`,
      }),
    }}
  >
    The old key stops working at once. You get a new one with the same name.
  </AskButton>
)

const DeleteButton = ({ of: { id, name } }: { of: AdminKey }) => (
  <AskButton
    label="Delete"
    button={{ isSmall: true, 'aria-label': `Delete ${name}` }}
    path={KEYS}
    title={say`Delete the key ${name}?`}
    confirm="Confirm: delete key"
    isDangerous
    write={{
      what: named('key', name),
      did: 'was deleted',
      act: (admin) => admin.adminKeys.delete({ ids: [id] }),
    }}
  >
    It stops working at once. People who are signed in with it are signed out. This cannot be undone.
  </AskButton>
)

const Draft = z.object({ name: text() })

/** The form of a new admin key, and afterwards the key. */
export const NewAdminKey = ({ onClose }: { onClose: () => void }) => (
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
    schema={Draft}
    values={{ name: '' }}
    submit="Create key"
    write={(draft) => ({
      what: named('key', draft.name),
      did: 'was created',
      act: (admin) => admin.adminKeys.create([draft]),
      secret: ({ created: [made] }) =>
        made && {
          title: 'The key was created',
          label: 'Admin key',
          secret: made.key,
          children: (
            <>
              The key of {made.name}, for the header <Code>X-API-KEY</Code>.
            </>
          ),
        },
    })}
    onClose={onClose}
  />
)
