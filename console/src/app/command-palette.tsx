import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { ArrowRight, type LucideIcon, Plus } from 'lucide-react'
import { useMemo } from 'react'
import { ALL_PAGES } from './navigation'

type Command = { label: string; words: string; path: string; icon: LucideIcon }

/** What can be created, with the path of its form. */
const CREATED = [
  ['user', '/users/new'],
  ['metric', '/metrics/new'],
  ['points system', '/points/new'],
  ['achievement', '/achievements/new'],
  ['leaderboard', '/leaderboards/new'],
  ['attribute', '/attributes/new'],
  ['webhook', '/webhooks/new'],
  ['template', '/notifications/new'],
  ['admin key', '/api-keys/new-admin'],
  ['application key', '/api-keys/new'],
] as const

const COMMANDS: readonly Command[] = [
  ...ALL_PAGES.map(({ name, path, icon, words = '' }) => ({ label: name, words, path, icon })),
  ...CREATED.map(([what, path]) => ({ label: `New ${what}`, words: 'create add', path, icon: Plus })),
]

/** How well a command fits a text: 0 is best, null is not at all. */
function rankOf({ label, words }: Command, text: string): number | null {
  const name = label.toLowerCase()
  if (name.startsWith(text)) return 0
  if (name.split(' ').some((word) => word.startsWith(text))) return 1
  if (name.includes(text)) return 2
  return words.split(' ').some((word) => word.startsWith(text)) ? 3 : null
}

/** A field that finds every page. Enter opens the first match. */
export function CommandPalette({
  isOpen,
  onOpenChange,
}: {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
}) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-backdrop" />
        <Dialog.Popup
          aria-label="Search"
          className="fixed top-[12vh] left-1/2 z-50 flex max-h-[70vh] w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 flex-col overflow-hidden rounded-lg border border-line bg-raised shadow-raised outline-none"
        >
          <Commands onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Commands({ onDone }: { onDone: () => void }) {
  const navigate = useNavigate()
  const items = useMemo(() => [...COMMANDS], [])
  return (
    <Autocomplete.Root
      items={items}
      inline
      open
      autoHighlight="always"
      keepHighlight
      itemToStringValue={({ label }) => label}
      filter={(command, query) => rankOf(command, query.trim().toLowerCase()) !== null}
    >
      <Autocomplete.Input
        aria-label="Search"
        placeholder="Go to a page, or create something"
        className="border-b border-line bg-transparent px-5 py-4 text-lg outline-none placeholder:text-faint"
      />
      <Autocomplete.Empty>
        <p className="px-5 py-6 text-quiet empty:hidden">Nothing fits. Try the name of a page.</p>
      </Autocomplete.Empty>
      <Autocomplete.List className="overflow-y-auto p-2 empty:p-0">
        {(command: Command) => (
          <Autocomplete.Item
            key={command.path}
            value={command}
            onClick={() => {
              onDone()
              navigate({ to: command.path })
            }}
            className="group flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 data-highlighted:bg-accent-soft"
          >
            <command.icon size={16} aria-hidden="true" className="text-quiet" />
            <span className="flex-1">{command.label}</span>
            <ArrowRight
              size={15}
              aria-hidden="true"
              className="invisible text-quiet group-data-highlighted:visible"
            />
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  )
}
