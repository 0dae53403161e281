import type { Laurel, UpdatedUser, User } from '@laurel/client'
import { useNavigate } from '@tanstack/react-router'
import { z } from 'zod'
import { isNotFound, WriteRefused } from '../../api/errors'
import { FormSheet } from '../../resource/form-sheet'
import { type Attribute, useLookups } from '../../resource/lookups'
import type { Field } from '../../resource/resource'
import { at, date, optionalText, text } from '../../resource/schemas'
import { changed, valuesOf } from '../../resource/values'
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

/** The fields that differ from those at first. What is empty now is removed. */
function changesOf(given: Values, first: Values, attributes: readonly Attribute[]): UpdatedUser {
  const { id: _id, tz, signUpDate, attributes: values, ...changes } = changed(given, first)
  const ofUser = Object.entries(changed(values ?? {}, first.attributes)).map(([id, value]) => [
    attributes.find((one) => one.id === id)?.key ?? id,
    value || null,
  ])
  return {
    ...changes,
    ...(tz !== undefined && { tz: tz || null }),
    ...(signUpDate !== undefined && { signUpDate: signUpDate || null }),
    ...(ofUser.length > 0 && { attributes: Object.fromEntries(ofUser) }),
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
  const fields = fieldsOf(user, attributes)
  const first = {
    ...valuesOf(fields, user),
    id: user?.id ?? '',
    attributes: Object.fromEntries(
      attributes.map(({ id, key }) => [id, user?.attributes[key]?.trim() ?? '']),
    ),
  }
  const schema = Values.refine(
    ({ email }) => email !== '' || !user?.email,
    at('email', 'An address can be replaced, but not removed.'),
  ).refine(
    ({ email, subscribeToEmails: wants }) => email !== '' || !wants || user?.subscribeToEmails === true,
    at('email', 'Emails need an address.'),
  )
  const tokens = user?.deviceTokens?.length ?? 0
  return (
    <FormSheet
      path={USERS}
      isWarningRefused
      name={user === null ? NEW_USER : `${USERS}/${user.id}/profile`}
      title={title}
      about={tokens === 0 ? undefined : `Push messages go to ${counted(tokens, 'device')}.`}
      fields={fields}
      schema={schema}
      values={first}
      submit={user === null ? 'Create user' : 'Save changes'}
      write={(given) => ({
        what: say`The user ${nameOr(given.name, user?.id ?? given.id)}`,
        did: user === null ? 'was created' : 'was saved',
        act: async (_, laurel) => {
          const changes = changesOf(given, first, attributes)
          if (user !== null) return laurel.users.update(user.id, changes)
          if (await exists(laurel, given.id))
            throw new WriteRefused([{ path: 'id', message: 'There is a user with this id already.' }])
          return laurel.users.create({ id: given.id, ...changes })
        },
      })}
      onDone={({ id }) => (user === null ? navigate({ to: pathOfUser(id), replace: true }) : onClose())}
      onClose={onClose}
    />
  )
}
