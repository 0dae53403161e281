import type { AdminAttribute } from '@laurel/client'
import { z } from 'zod'
import { NAMED, usersOf } from '../../resource/affected'
import type { Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { choice, key, text } from '../../resource/schemas'
import { Code } from '../../ui/page'
import { say } from '../../ui/text'

const Draft = z
  .object({
    name: text(),
    key: key(),
    type: choice(['user', 'event']),
    writableBy: choice(['admin', 'user']),
  })
  // Event attributes have no `writableBy` (K7).
  .transform(({ writableBy, ...draft }) => ({ ...draft, ...(draft.type === 'user' && { writableBy }) }))

export const attributes: Resource<AdminAttribute, z.input<typeof Draft>, z.output<typeof Draft>> = {
  name: 'Attributes',
  one: 'attribute',
  path: '/attributes',
  intro: 'Facts about users and events, such as country or plan. Filters and leaderboards use them.',
  empty: {
    title: 'No attributes yet',
    text: 'Add one to give points to some users only, or to rank each country on its own.',
  },
  // User and event attributes may share a key, so the path names the id.
  pathsBy: 'id',
  operations: (admin) => admin.attributes,
  columns: () => [
    { name: 'Key', cell: ({ key }) => <Code>{key}</Code>, isMinor: true },
    { name: 'Type', cell: ({ type }) => type },
  ],
  form: {
    schema: Draft,
    fields: [
      { kind: 'text', name: 'name', label: 'Name', placeholder: 'Country' },
      { kind: 'key', name: 'key', label: 'Key', fixed: 'The key of an attribute never changes.' },
      {
        kind: 'choice',
        name: 'type',
        label: 'Type',
        fixed: 'The type of an attribute never changes.',
        options: { user: 'Of users', event: 'Of events' },
      },
      {
        kind: 'choice',
        name: 'writableBy',
        label: 'Set by',
        options: { admin: 'Only your servers', user: 'Also apps and browsers, with a key of the user' },
        hint: 'Keep what gives points or prizes to your servers.',
        when: ({ type }) => type === 'user',
      },
    ],
    preview: ({ name, type, writableBy }) =>
      name.trim() === ''
        ? null
        : type === 'event'
          ? say`An event may have a value of ${name}. Triggers and achievements can count only some values.`
          : say`A user may have a value of ${name}. ${
              writableBy === 'admin' ? 'Only your servers set it.' : 'Users may set their own.'
            }`,
  },
  deletion: {
    text: 'Its values are deleted with it. This cannot be undone. It is refused while something active names the attribute.',
    affected: (item) => (admin) => usersOf(admin, item, NAMED),
  },
}

export default resourcePage(attributes)
