import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useState,
} from 'react'
import { classes } from './classes'
import { useHeadingFocus } from './heading'
import { Icon } from './icon'

type PageProps = {
  /** The name of the page: its heading, and the title of the tab. */
  name: string
  /** One sentence that says what the page is for. */
  intro?: ReactNode
  /** Above the heading: a link to the list. */
  above?: ReactNode
  /** Beside the heading, such as a state. */
  beside?: ReactNode
  /** The buttons of the page. */
  actions?: ReactNode
  /** Is true until the content has been loaded. */
  isLoading?: boolean
  children: ReactNode
}

/** A page: one heading, its actions, its content. */
export function Page({ name, intro, above, beside, actions, isLoading = false, children }: PageProps) {
  const heading = useHeadingFocus()
  useEffect(() => {
    document.title = `${name} · Laurel`
  }, [name])
  return (
    <div
      className="stack mx-auto flex w-full max-w-6xl flex-col gap-6 px-4 py-6 sm:px-8 sm:py-8"
      aria-busy={isLoading}
    >
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          {above !== undefined && (
            <div className="mb-1.5 -ml-1 flex w-fit items-center gap-0.5 text-sm text-quiet hover:text-text">
              <Icon name="chevron-left" size={15} />
              {above}
            </div>
          )}
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1
              ref={heading}
              tabIndex={-1}
              title={name.length > 60 ? name : undefined}
              className="line-clamp-3 text-2xl font-semibold tracking-tight outline-none"
            >
              {name}
            </h1>
            {beside}
          </div>
          {intro && <p className="mt-1 max-w-3xl text-quiet">{intro}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** Counts the skeletons of a card. */
const Skeletons = createContext<((change: 1 | -1) => void) | null>(null)

/** A part of a page on a surface of its own. It is busy as long as it has a skeleton. */
export function Card({
  title,
  about,
  actions,
  flush = false,
  children,
}: {
  title?: string
  about?: ReactNode
  actions?: ReactNode
  /** Is true if the content reaches the edges, as a table does. */
  flush?: boolean
  children: ReactNode
}) {
  const hasHeader = title !== undefined || Boolean(actions)
  const [skeletons, setSkeletons] = useState(0)
  const count = useCallback((change: 1 | -1) => setSkeletons((before) => before + change), [])
  return (
    <section
      className="min-w-0 rounded-lg border border-line bg-surface shadow-card"
      aria-busy={skeletons > 0 || undefined}
    >
      {hasHeader && (
        <header className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 px-4 pt-4 sm:px-5">
          <div className="min-w-0">
            {title !== undefined && <h2 className="text-lg font-semibold tracking-tight">{title}</h2>}
            {about !== undefined && <p className="text-sm text-quiet">{about}</p>}
          </div>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </header>
      )}
      <div className={classes(flush ? hasHeader && 'pt-3' : 'px-4 pb-5 sm:px-5', !flush && 'pt-4')}>
        <Skeletons value={count}>{children}</Skeletons>
      </div>
    </section>
  )
}

/** A value with its name. Null if it is not there. */
export type Fact = readonly [name: string, value: ReactNode] | null

/** Names and values, in two columns. Leaves out values that are not there. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_1fr] gap-x-4 gap-y-3 sm:gap-x-6">
      {facts
        .filter((fact) => fact !== null)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="min-w-24 text-quiet wrap-anywhere sm:min-w-32">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** A value, which may be a long text. */
export const Shown = ({ children }: { children: string }) => (
  <div
    className="max-h-40 overflow-y-auto whitespace-pre-wrap wrap-anywhere"
    tabIndex={children.length > 200 ? 0 : undefined}
  >
    {children}
  </div>
)

/** A page without content yet: it says what to do first. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string
  children: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-12 text-center">
      <p className="text-lg font-semibold tracking-tight">{title}</p>
      <div className="max-w-md text-quiet">{children}</div>
      {action !== undefined && <div className="mt-3">{action}</div>}
    </div>
  )
}

/** A message that stays where it is: an error, a warning, or something to know. */
export function Notice({
  tone = 'plain',
  children,
  action,
}: {
  tone?: 'plain' | 'warning' | 'danger'
  children: ReactNode
  action?: ReactNode
}) {
  const look = {
    plain: 'bg-accent-soft text-text',
    warning: 'bg-warning-soft text-text',
    danger: 'bg-danger-soft text-danger',
  }[tone]
  return (
    <div
      role={tone === 'plain' ? 'status' : 'alert'}
      className={classes('flex flex-wrap items-center justify-between gap-3 rounded-md px-4 py-3', look)}
    >
      <div className="min-w-0 flex-1 basis-60">{children}</div>
      {action}
    </div>
  )
}

/** Lines of a text that is loading. They have the height of the text. */
export function Skeleton({ className }: { className?: string }) {
  const count = useContext(Skeletons)
  useLayoutEffect(() => {
    count?.(1)
    return () => count?.(-1)
  }, [count])
  return (
    <span
      aria-hidden="true"
      className={classes(
        'inline-block h-4 animate-pulse rounded-sm bg-hover align-middle forced-colors:border',
        className ?? 'w-24',
      )}
    />
  )
}

/** The place of a part of a page that is loading. The classes give its height. */
export const Waiting = ({ className }: { className: string }) => (
  <div aria-busy="true">
    <Skeleton className={classes('block! w-full', className)} />
  </div>
)

/** A short state, such as "active". Never by colour alone. */
export function Badge({
  tone = 'plain',
  children,
}: {
  tone?: 'plain' | 'good' | 'warning' | 'danger'
  children: ReactNode
}) {
  const look = {
    plain: 'bg-hover text-quiet',
    good: 'bg-accent-soft text-accent',
    warning: 'bg-warning-soft text-warning',
    danger: 'bg-danger-soft text-danger',
  }[tone]
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        look,
      )}
    >
      <span aria-hidden="true" className="size-1.5 shrink-0 rounded-full bg-current" />
      {children}
    </span>
  )
}

/** A key or an id. */
export const Code = ({ children }: { children: ReactNode }) => (
  <code className="rounded-sm bg-sunken px-1.5 py-0.5 align-[0.06em] font-mono text-xs break-all box-decoration-clone">
    {children}
  </code>
)

/** A value as indented JSON, in a box that scrolls. */
export const Json = ({ value, label }: { value: unknown; label: string }) => (
  <section
    aria-label={`${label} as JSON`}
    className="max-h-96 overflow-auto rounded-md border border-line bg-sunken p-3"
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard.
    tabIndex={0}
  >
    <pre className="font-mono text-xs whitespace-pre-wrap break-all">{JSON.stringify(value, null, 2)}</pre>
  </section>
)

/** What is wrong with a field, below it. */
export const Fault = ({ id, children }: { id?: string; children: string | undefined }) =>
  children !== undefined && (
    <p id={id} role="alert" className="text-sm text-danger">
      {children}
    </p>
  )
