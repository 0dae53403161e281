import type { AdminKey, CreatedAdminKey } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { useAdmin } from '../../api/laurel'
import { FormSheet } from '../../resource/form-sheet'
import { text } from '../../resource/schemas'
import { useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { Confirm } from '../../ui/dialog'
import { Moment } from '../../ui/format'
import { Card, Code } from '../../ui/page'
import { SecretDialog } from '../../ui/secret'
import { KEYS, KeysList } from './keys-list'

type Asked = { key: AdminKey; what: 'rotate' | 'delete' }

/** Keys that may do everything. */
export function AdminKeys() {
  const write = useWrite<CreatedAdminKey>(KEYS)
  const admin = useAdmin()
  // Nobody replaces the key of the session: the page would lose its own key, and with it the new one.
  const session = useQuery({ queryKey: [KEYS, 'session'], queryFn: async () => admin.session() })
  const [asked, setAsked] = useState<Asked | null>(null)
  const [made, setMade] = useState<CreatedAdminKey | null>(null)
  const rotate = async (id: string) => {
    const rotated = await write.mutateAsync({
      act: async (admin) => ({ updated: [await admin.adminKeys.rotate(id)] }),
      done: 'The key was replaced',
    })
    setMade(rotated ?? null)
  }
  const remove = (id: string) =>
    write.mutateAsync({
      act: (admin) => admin.adminKeys.delete({ ids: [id] }),
      done: 'The key was deleted',
    })
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
                  <Button
                    isSmall
                    aria-label={`Rotate ${key.name}`}
                    onClick={() => setAsked({ key, what: 'rotate' })}
                  >
                    Rotate
                  </Button>
                  <Button
                    isSmall
                    aria-label={`Delete ${key.name}`}
                    onClick={() => setAsked({ key, what: 'delete' })}
                  >
                    Delete
                  </Button>
                </span>
              ),
          },
        ]}
      />
      {asked?.what === 'rotate' && (
        <Confirm
          title={`Replace the key ${asked.key.name}?`}
          confirm="Confirm: rotate key"
          isDangerous
          onConfirm={() => rotate(asked.key.id)}
          onClose={() => setAsked(null)}
        >
          The old key stops working at once. You get a new one with the same name.
        </Confirm>
      )}
      {asked?.what === 'delete' && (
        <Confirm
          title={`Delete the key ${asked.key.name}?`}
          confirm="Confirm: delete key"
          isDangerous
          onConfirm={() => remove(asked.key.id)}
          onClose={() => setAsked(null)}
        >
          It stops working at once. People who are signed in with it are signed out. This cannot be undone.
        </Confirm>
      )}
      {made !== null && (
        <SecretDialog
          title="The key was replaced"
          label="Admin key"
          secret={made.key}
          onClose={() => setMade(null)}
        >
          The new key of {made.name}. The old one no longer works.
        </SecretDialog>
      )}
    </Card>
  )
}

const Draft = z.object({ name: text() })

/** The form of a new admin key, and afterwards the key. */
export function NewAdminKey({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const write = useWrite<CreatedAdminKey>(KEYS)
  const [made, setMade] = useState<CreatedAdminKey | null>(null)
  return (
    <>
      {isOpen && (
        <FormSheet
          title="New admin key"
          about="It may read and change everything. Give each server and person one of their own."
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
          onSubmit={async (draft) => {
            const key = await write.mutateAsync({
              act: (admin) => admin.adminKeys.create([draft]),
              done: 'The key was created',
            })
            setMade(key ?? null)
            onClose()
          }}
          onClose={onClose}
        />
      )}
      {made !== null && (
        <SecretDialog
          title="The key was created"
          label="Admin key"
          secret={made.key}
          onClose={() => setMade(null)}
        >
          The key of {made.name}, for the header <Code>X-API-KEY</Code>.
        </SecretDialog>
      )}
    </>
  )
}
