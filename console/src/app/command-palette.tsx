import { Autocomplete } from '@base-ui/react/autocomplete'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAdmin } from '../api/laurel'
import { keyOf } from '../resource/resource'
import { Overlay } from '../ui/dialog'
import { Icon, type IconName } from '../ui/icon'
import { nameOr, trimmed, userPath } from '../ui/text'
import { useSettled } from '../ui/typed'
import { ALL_PAGES } from './navigation'

/** `words` are more words by which it is found, `about` is beside its label. */
type Command = { label: string; words: string; path: string; icon: IconName; about?: string }

/** The things that can be created, with the path of its form. */
const CREATED = [
  ...ALL_PAGES.flatMap(({ one, path }) => (one === undefined ? [] : [{ one, path: `${path}/new` }])),
  { one: 'admin key', path: '/api-keys/new-admin' },
]

const COMMANDS: readonly Command[] = [
  ...ALL_PAGES.map(({ name, path, icon, words = '' }) => ({ label: name, words, path, icon })),
  ...CREATED.map(({ one, path }) => ({
    label: `New ${one}`,
    words: 'create add',
    path,
    icon: 'plus' as const,
  })),
]

/** How well a command fits a text: 0 is best, null is not at all. */
function rankOf({ label, words }: Command, text: string): number | null {
  const name = label.toLowerCase()
  if (name.startsWith(text)) return 0
  if (name.split(' ').some((word) => word.startsWith(text))) return 1
  if (name.includes(text)) return 2
  return words.split(' ').some((word) => word.startsWith(text)) ? 3 : null
}

/** Those of some commands that fit a text, the best first. */
function fitting(commands: readonly Command[], text: string): readonly Command[] {
  return commands
    .map((command) => ({ command, rank: rankOf(command, text) }))
    .filter(({ rank }) => rank !== null)
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
    .map(({ command }) => command)
}

/** How many users the palette shows, and from how many letters on. */
const MOST_USERS = 5
const LETTERS = 2

/** The users whose id, name or email address contains a text. Enter opens the first one, so none are of an older text. */
function useUsersFor(text: string): readonly Command[] {
  const admin = useAdmin()
  const search = useSettled(text)
  const isWanted = search.length >= LETTERS && search === text
  const { data } = useQuery({
    queryKey: ['/users', 'palette', search],
    queryFn: ({ signal }) => admin.users.list({ search, limit: MOST_USERS }, { signal }),
    enabled: isWanted,
  })
  if (!isWanted || data === undefined) return []
  return data.map(({ id, name }) => ({
    label: nameOr(name, id),
    about: nameOr(name, id) === id ? '' : id,
    words: '',
    path: userPath(id),
    icon: 'user-round',
  }))
}

/** The kinds of configured things, with the page and the icon of each. */
const KINDS = ALL_PAGES.flatMap(({ path, icon, one = '', things }) =>
  things === undefined
    ? []
    : [{ path, icon, one: `${one.slice(0, 1).toUpperCase()}${one.slice(1)}`, ...things }],
)

/** How long the names of configured things are kept, in milliseconds. */
const FRESH = 60_000
/** The most configured things that the palette shows. */
const MOST_THINGS = 10

/** The configured things whose name or key fits a text. They are read once there is a text. */
function useThingsFor(text: string): readonly Command[] {
  const admin = useAdmin()
  const isWanted = text.length >= LETTERS
  const kinds = useQueries({
    queries: KINDS.map(({ path, all }) => ({
      queryKey: [path, 'palette'],
      queryFn: () => all(admin),
      enabled: isWanted,
      staleTime: FRESH,
    })),
  })
  if (!isWanted) return []
  const commands = KINDS.flatMap(({ path, icon, one, ...kind }, index) =>
    (kinds[index]?.data ?? []).map((thing) => ({
      label: nameOr(thing.name, thing.key),
      about: `${one} ${thing.key}`,
      words: `${thing.key} ${thing.key.replaceAll(/[-_]+/g, ' ')}`.toLowerCase(),
      path: `${path}/${encodeURIComponent(keyOf(kind, thing))}`,
      icon,
    })),
  )
  return fitting(commands, text.toLowerCase()).slice(0, MOST_THINGS)
}

/** A field that finds every page, configured things, and users. Enter opens the first match. */
export const CommandPalette = (props: { isOpen: boolean; onOpenChange: (isOpen: boolean) => void }) => (
  <Overlay
    {...props}
    label="Search"
    className="top-[10vh] left-1/2 max-h-[70vh] w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised"
  >
    {(leave) => <Commands onDone={leave} />}
  </Overlay>
)

function Commands({ onDone }: { onDone: () => void }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const text = trimmed(typed)
  const things = useThingsFor(text)
  const users = useUsersFor(text)
  const items = [...fitting(COMMANDS, text.toLowerCase()), ...things, ...users]
  return (
    <Autocomplete.Root
      items={items}
      value={typed}
      onValueChange={setTyped}
      inline
      open
      autoHighlight="always"
      keepHighlight
      itemToStringValue={({ label }) => label}
      filter={null}
    >
      <Autocomplete.Input
        aria-label="Search"
        placeholder="Find a page, a leaderboard, a user…"
        maxLength={255}
        className="border-b border-line bg-transparent px-5 py-4 text-lg outline-none placeholder:text-faint"
      />
      <Autocomplete.Empty>
        <p className="px-5 py-6 text-quiet empty:hidden">
          Nothing fits. Try the name of a page, the name or key of a metric, a leaderboard and so on, or the
          id, name or email address of a user.
        </p>
      </Autocomplete.Empty>
      <Autocomplete.List className="overflow-y-auto overscroll-contain p-2 empty:p-0">
        {(command: Command) => (
          <Autocomplete.Item
            key={command.path}
            value={command}
            onClick={() => {
              onDone()
              navigate({ to: command.path })
            }}
            className="group flex cursor-pointer scroll-my-2 items-center gap-3 rounded-md px-3 py-2 data-highlighted:bg-accent-soft"
          >
            <Icon
              name={command.icon}
              size={16}
              className="shrink-0 text-quiet group-data-highlighted:text-accent"
            />
            <span className="min-w-0 truncate">{command.label}</span>
            <span className="min-w-0 flex-1 truncate text-sm text-quiet">{command.about}</span>
            <Icon
              name="corner-down-left"
              size={14}
              className="invisible shrink-0 text-quiet group-data-highlighted:visible"
            />
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  )
}
