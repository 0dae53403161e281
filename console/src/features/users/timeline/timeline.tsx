import type { TimelineEntry, User } from '@laurel/client'
import { useAdmin } from '../../../api/laurel'
import { ShowMore, Unread, useCursorPages } from '../../../api/paging'
import { type Lookups, useLookups } from '../../../resource/lookups'
import { useAddress } from '../../../ui/address'
import { formatMoment, formatNumber, formatTime, formatTimeIn, VIEWER_ZONE, zoneOf } from '../../../ui/format'
import { Icon } from '../../../ui/icon'
import { LOCALE } from '../../../ui/locale'
import { Card, Empty, Waiting } from '../../../ui/page'
import { Select } from '../../../ui/select'
import { VoidEventForm } from '../actions/action-forms'
import { keyOfUser } from '../user-paths'
import { entryInWords, TYPES } from './entries'
import { ExplanationSheet } from './explanation-sheet'

/** The parts of the address that say what is open. */
type Opened = { award?: string; system?: string; void?: string }

const isType = (text: unknown): text is keyof typeof TYPES =>
  typeof text === 'string' && Object.hasOwn(TYPES, text)

/** Everything that happened to a user, newest first. */
export function Timeline({ user }: { user: User }) {
  const admin = useAdmin()
  const lookups = useLookups(['metrics', 'points'])
  const { search: opened, text, show, open } = useAddress()
  const type = isType(opened.type) ? opened.type : null
  const entries = useCursorPages(keyOfUser(user.id, 'timeline', type ?? ''), (query, signal) =>
    admin.users.timeline.list(user.id, { ...query, ...(type !== null && { types: type }) }, { signal }),
  )
  const close = () => open({ award: '', system: '', void: '' })
  return (
    <Card
      title="Timeline"
      about="Newest first, in your time zone."
      flush
      actions={
        <label htmlFor="timeline-type" className="flex items-center gap-2">
          <span className="text-quiet">Type</span>
          <Select
            id="timeline-type"
            value={type ?? ''}
            onChange={({ target }) => show({ type: target.value })}
            none="All"
            options={Object.entries(TYPES).map(([value, { name }]) => ({ value, label: name }))}
          />
        </label>
      }
    >
      <div className="border-t border-line" aria-busy={entries.isPending}>
        {entries.isLoadingError ? (
          <div className="p-5">
            <Unread of={entries} />
          </div>
        ) : entries.isPending ? (
          <Waiting className="h-96" />
        ) : entries.data.length === 0 ? (
          <Empty title="Nothing has happened yet">
            {type === null
              ? 'Events, points, achievements and streaks of this user appear here.'
              : 'There are no entries of this type.'}
          </Empty>
        ) : (
          grouped(entries.data, isSameDay).map((ofDay) => (
            <section key={dayOf(ofDay[0])} aria-label={dayOf(ofDay[0])}>
              <h3 className="border-b border-line bg-sunken px-5 py-1.5 text-sm font-medium text-quiet">
                {dayOf(ofDay[0])}
              </h3>
              <ol>
                {rowsOf(ofDay).map((steps) => (
                  <Steps key={keyOf(steps[0])} steps={steps} user={user} lookups={lookups} onOpen={open} />
                ))}
              </ol>
            </section>
          ))
        )}
      </div>
      <ShowMore pages={entries} />
      {opened.award !== undefined && opened.system !== undefined && (
        <ExplanationSheet
          user={user}
          system={text('system')}
          awardId={text('award')}
          lookups={lookups}
          onClose={close}
        />
      )}
      {opened.void !== undefined && (
        <VoidEventForm
          userId={user.id}
          eventId={text('void')}
          event={eventInWords(entries.data, text('void'), lookups)}
          onClose={close}
        />
      )}
    </Card>
  )
}

/** An event of a list in words, with its time. Undefined if the list does not have it. */
function eventInWords(entries: readonly TimelineEntry[] | undefined, id: string, lookups: Lookups) {
  const event = entries?.find((entry) => entry.type === 'event' && entry.id === id)
  if (event === undefined) return undefined
  const { title } = entryInWords(event, lookups)
  return event.at === null ? title : `${title}, ${formatMoment(event.at)}`
}

const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full' })

/** Entries that follow each other, together with the first one that they belong to. */
function grouped(
  entries: readonly TimelineEntry[],
  isOf: (first: TimelineEntry, entry: TimelineEntry) => boolean,
): [TimelineEntry, ...TimelineEntry[]][] {
  const groups: [TimelineEntry, ...TimelineEntry[]][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last !== undefined && isOf(last[0], entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups
}

/** The day of an entry in the viewer's zone. A few old entries have no known time. */
const dayOf = ({ at }: TimelineEntry) => (at === null ? 'Time not known' : DAY.format(new Date(at)))
const isSameDay = (first: TimelineEntry, entry: TimelineEntry) =>
  entry.at === null || dayOf(first) === dayOf(entry)

/** From so many equal gains in a row on, they are one entry. */
const FEWEST_STEPS = 3

const isSameGain = (one: TimelineEntry, other: TimelineEntry): boolean =>
  one.type === 'award' &&
  other.type === 'award' &&
  one.systemKey === other.systemKey &&
  one.awarded === other.awarded &&
  one.awarded > 0

/** The entries in their order. Equal gains that follow each other are together, such as a point each hour. */
const rowsOf = (entries: readonly TimelineEntry[]): TimelineEntry[][] =>
  grouped(entries, isSameGain).flatMap((row) => (row.length < FEWEST_STEPS ? row.map((one) => [one]) : [row]))

const keyOf = (entry: TimelineEntry | undefined) => `${entry?.type}-${entry?.id}`

/** One entry, or equal gains in one line, which opens. */
function Steps({ steps, ...props }: Omit<EntryProps, 'entry'> & { steps: readonly TimelineEntry[] }) {
  const entries = steps.map((entry) => <Entry key={keyOf(entry)} entry={entry} {...props} />)
  const [newest] = steps
  if (steps.length === 1 || newest?.type !== 'award') return entries
  const { title } = entryInWords({ ...newest, awarded: newest.awarded * steps.length }, props.lookups)
  return (
    <li>
      <details>
        <summary className="border-b border-line px-5 py-3 font-medium hover:bg-hover">
          {title} in {formatNumber(steps.length)} steps
        </summary>
        <ul className="pl-4">{entries}</ul>
      </details>
    </li>
  )
}

type EntryProps = { entry: TimelineEntry; user: User; lookups: Lookups; onOpen: (search: Opened) => void }

function Entry({ entry, user, lookups, onOpen }: EntryProps) {
  const { title, details } = entryInWords(entry, lookups)
  const isVoided = entry.type === 'event' && entry.voided !== null
  const zone = zoneOf(user.tz)
  return (
    <li className="flex items-start gap-3 border-b border-line px-5 py-3">
      <Icon name={TYPES[entry.type].icon} size={16} className="mt-0.5 shrink-0 text-quiet" />
      <div className="min-w-0 flex-1">
        <p className={isVoided ? 'text-quiet line-through' : 'font-medium'}>{title}</p>
        <div className="flex flex-wrap items-baseline gap-x-3 text-sm">
          {details.length > 0 && <p className="line-clamp-3 text-quiet">{details.join(' · ')}</p>}
          <EntryAction entry={entry} onOpen={onOpen} />
        </div>
      </div>
      {entry.at !== null && (
        <div className="shrink-0 text-right text-sm">
          <time dateTime={entry.at} className="tabular-nums">
            {formatTime(entry.at)}
          </time>
          {zone !== VIEWER_ZONE && (
            <p className="max-w-40 text-xs text-quiet sm:max-w-none">
              {formatTimeIn(entry.at, zone)} in {zone}
            </p>
          )}
        </div>
      )}
    </li>
  )
}

const ACTION = 'rounded-sm text-left font-medium text-accent hover:underline'

/** The question and the action that an entry offers. */
function EntryAction({ entry, onOpen }: Pick<EntryProps, 'entry' | 'onOpen'>) {
  if ((entry.type === 'award' || entry.type === 'adjustment') && entry.systemKey !== null) {
    const { id, systemKey, awarded } = entry
    const count = Math.abs(awarded)
    return (
      <button type="button" className={ACTION} onClick={() => onOpen({ award: id, system: systemKey })}>
        Why {count === 1 ? 'this 1 point' : `these ${formatNumber(count)} points`}?
      </button>
    )
  }
  if (entry.type === 'event' && entry.voided === null)
    return (
      <button
        type="button"
        className="rounded-sm text-quiet hover:text-text hover:underline"
        onClick={() => onOpen({ void: entry.id })}
      >
        Void this event
      </button>
    )
  return null
}
