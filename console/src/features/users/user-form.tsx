import type { Laurel, UpdatedUser, User } from '@laurel/client'
import { useNavigate } from '@tanstack/react-router'
import { z } from 'zod'
import { isNotFound, WriteRefused } from '../../api/errors'
import { FormSheet } from '../../resource/form-sheet'
import { type Attribute, useLookups } from '../../resource/lookups'
import type { Field } from '../../resource/resource'
import { at, date, optionalText, text } from '../../resource/schemas'
import type { Write } from '../../resource/writes'
import { DetailSheet } from '../../ui/dialog'
import { counted } from '../../ui/format'
import { Waiting } from '../../ui/page'
import { nameOr, say } from '../../ui/text'
import { NEW_USER, pathOfUser, USERS } from './user-paths'

const Values = z.object({
  id: text(),
  name: optionalText(255),
  email: optionalText(255).refine(
    (given) => given === '' || /^\S+@\S+$/.test(given),
    'Use an address such as ada@example.com.',
  ),
  tz: z.string(),
  signUpDate: z.literal('').or(date()),
  subscribeToEmails: z.boolean(),
  /** The values of attributes, by the id of the attribute. */
  attributes: z.record(z.string(), optionalText(1000)),
})
type Values = z.infer<typeof Values>

const ZONES: readonly string[] = Intl.supportedValuesOf('timeZone')

/** The choices of the zone. A zone that this browser does not list stays a choice. */
const zoneOptions = (current: string | null) => [
  { value: '', label: 'None (UTC)' },
  ...[...new Set([...(current === null ? [] : [current]), ...ZONES])].map((zone) => ({
    value: zone,
    label: zone.replaceAll('_', ' '),
  })),
]

/** The fields of the profile. A new user also has an id. */
function fieldsOf(user: User | null, attributes: readonly Attribute[]): readonly Field<Values>[] {
  return [
    ...(user === null
      ? [
          {
            kind: 'text',
            name: 'id',
            label: 'Id',
            hint: 'The id of the user in your product. It cannot be changed.',
          } as const,
        ]
      : []),
    { kind: 'text', name: 'name', label: 'Name', isOptional: true },
    { kind: 'text', name: 'email', label: 'Email', isOptional: true },
    {
      kind: 'choice',
      name: 'tz',
      label: 'Time zone',
      options: zoneOptions(user?.tz ?? null),
      hint: 'Decides when the day of the user begins.',
    },
    { kind: 'date', name: 'signUpDate', label: 'Signed up', isOptional: true },
    {
      kind: 'switch',
      name: 'subscribeToEmails',
      label: 'Subscribed',
      hint: 'Gets emails. This needs an address.',
    },
    ...attributes.map(
      ({ id, name }) => ({ kind: 'text', name: `attributes.${id}`, label: name, isOptional: true }) as const,
    ),
  ]
}

/** The fields that differ from the user's. An empty attribute is removed. */
function changesOf(user: User | null, given: Values, attributes: readonly Attribute[]): UpdatedUser {
  const values = attributes.map(({ id, key }) => [key, given.attributes[id] ?? ''] as const)
  const changed = values.filter(([key, value]) => value !== (user?.attributes[key] ?? ''))
  return {
    ...(given.name !== (user?.name ?? '') && { name: given.name }),
    ...(given.email !== (user?.email ?? '') && { email: given.email }),
    ...(given.tz !== (user?.tz ?? '') && { tz: given.tz === '' ? null : given.tz }),
    ...(given.signUpDate !== (user?.signUpDate ?? '') && { signUpDate: given.signUpDate || null }),
    ...(given.subscribeToEmails !== (user?.subscribeToEmails ?? false) && {
      subscribeToEmails: given.subscribeToEmails,
    }),
    ...(changed.length > 0 && {
      attributes: Object.fromEntries(changed.map(([key, value]) => [key, value === '' ? null : value])),
    }),
  }
}

async function exists({ users }: Laurel, id: string): Promise<boolean> {
  try {
    await users.get(id)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** The form of a new user, or of the profile of one. */
export function UserForm({ user, onClose }: { user: User | null; onClose: () => void }) {
  const navigate = useNavigate()
  const lookups = useLookups(['attributes'])
  const title = user === null ? 'New user' : 'Edit profile'
  if (lookups.attributes.isLoading)
    return (
      <DetailSheet title={title} onClose={onClose}>
        <Waiting className="h-40" />
      </DetailSheet>
    )
  const attributes = lookups.attributes.all.filter(({ type }) => type === 'user')
  const schema = Values.refine(
    ({ email }) => email !== '' || !user?.email,
    at('email', 'An address can be replaced, but not removed.'),
  ).refine(
    ({ email, subscribeToEmails: wants }) => email !== '' || !wants || user?.subscribeToEmails === true,
    at('email', 'Emails need an address.'),
  )
  const write = (given: Values): Write<User> => {
    const fields = changesOf(user, given, attributes)
    const what = say`The user ${nameOr(given.name, user?.id ?? given.id)}`
    if (user !== null)
      return { what, did: 'was saved', act: (_, laurel) => laurel.users.update(user.id, fields) }
    return {
      what,
      did: 'was created',
      act: async (_, laurel) => {
        if (await exists(laurel, given.id))
          throw new WriteRefused([{ path: 'id', message: 'There is a user with this id already.' }])
        return laurel.users.create({ id: given.id, ...fields })
      },
    }
  }
  const tokens = user?.deviceTokens?.length ?? 0
  return (
    <FormSheet
      path={USERS}
      isWarningRefused
      name={user === null ? NEW_USER : `${USERS}/${user.id}/profile`}
      title={title}
      about={tokens === 0 ? undefined : `Push messages go to ${counted(tokens, 'device')}.`}
      fields={fieldsOf(user, attributes)}
      schema={schema}
      values={{
        id: user?.id ?? '',
        name: user?.name ?? '',
        email: user?.email ?? '',
        tz: user?.tz ?? '',
        signUpDate: user?.signUpDate ?? '',
        subscribeToEmails: user?.subscribeToEmails ?? false,
        attributes: Object.fromEntries(attributes.map(({ id, key }) => [id, user?.attributes[key] ?? ''])),
      }}
      submit={user === null ? 'Create user' : 'Save changes'}
      write={write}
      onDone={({ id }) => (user === null ? navigate({ to: pathOfUser(id), replace: true }) : onClose())}
      onClose={onClose}
    />
  )
}

/** The form of a new user, over the list. */
export function NewUserForm() {
  const navigate = useNavigate()
  return <UserForm user={null} onClose={() => navigate({ to: USERS })} />
}
