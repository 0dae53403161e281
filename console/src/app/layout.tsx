import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { useAdmin } from '../api/laurel'
import { LeaveButton } from '../session/leave-button'
import { watchCodes } from '../session/one-time-code'
import { useSession, useSessionState } from '../session/session-context'
import { SignInPage } from '../session/sign-in-page'
import { TenantPage, TenantSwitch } from '../session/tenant-picker'
import { Button, buttonClasses, IconButton } from '../ui/button'
import { classes } from '../ui/classes'
import { Overlay } from '../ui/dialog'
import { openDialog, ShownPage, useKeptFocus } from '../ui/heading'
import { Icon } from '../ui/icon'
import { Badge, Page } from '../ui/page'
import { ClockBar } from './clock-bar'
import { CommandPalette } from './command-palette'
import { ConnectionBanner } from './connection'
import icon from './icon.svg'
import { Secrets, useAskBeforeReload } from './messages'
import { ALL_PAGES, NAVIGATION } from './navigation'

/** Forms are loaded when they are needed, so that the first page is small. */
const NewTenant = lazy(() => import('./tenants'))

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** Everything around the pages. Without a key it shows the sign-in, at the same address. */
export function Layout() {
  const { signedIn } = useSessionState()
  const isSignedIn = signedIn !== null
  useKeptFocus(isSignedIn && !(signedIn.multiTenancy && signedIn.tenant === null))
  useAskBeforeReload()
  // A session goes on if its tab is given a link with a code. The code must not stay in the address.
  useEffect(() => (isSignedIn ? watchCodes(() => {}) : undefined), [isSignedIn])
  if (signedIn === null) return <SignInPage />
  if (signedIn.multiTenancy && signedIn.tenant === null) {
    const create = (
      <Suspense>
        <NewTenant />
      </Suspense>
    )
    return <TenantPage create={create} />
  }
  return <Shell key={signedIn.tenant?.id} />
}

function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const shown = useRef<string | null>(null)
  const { signedIn } = useSessionState()
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      // Without Latin letters, the place of the key counts. What a browser fills in has no key.
      const key = /^[a-z]$/i.test(event.key) ? event.key.toLowerCase() : event.code
      if (key !== 'k' && key !== 'KeyK') return
      // On a Mac, Ctrl+K deletes the rest of a line.
      if (!(isApple ? event.metaKey : event.ctrlKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      // A form or a question has to be closed first: its entries would be lost.
      setPaletteOpen((isOpen) => !isOpen && openDialog() === undefined)
    }
    addEventListener('keydown', open)
    return () => removeEventListener('keydown', open)
  }, [])
  return (
    <div className="flex h-dvh flex-col overflow-hidden print:h-auto print:overflow-visible">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:fixed! focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      {signedIn?.testClock === true && <ClockBar />}
      <ConnectionBanner />
      <div className="flex min-h-0 flex-1 max-lg:flex-col">
        <header className="flex w-60 shrink-0 flex-col border-r border-line bg-surface max-lg:hidden print:hidden">
          <Sidebar onSearch={() => setPaletteOpen(true)} />
        </header>
        <header className="flex items-center justify-between border-b border-line bg-surface px-3 py-2 lg:hidden print:hidden">
          <IconButton
            label="Menu"
            aria-haspopup="dialog"
            aria-expanded={isMenuOpen}
            onClick={() => setMenuOpen(true)}
          >
            <Icon name="menu" size={20} />
          </IconButton>
          <Overlay
            label="Menu"
            isOpen={isMenuOpen}
            onOpenChange={setMenuOpen}
            className="inset-y-0 left-0 w-72 max-w-[85vw] bg-surface low:overflow-y-auto"
          >
            {(leave) => (
              <Sidebar
                onSearch={() => {
                  setMenuOpen(false)
                  setPaletteOpen(true)
                }}
                onLeave={leave}
              />
            )}
          </Overlay>
          <Wordmark />
          <IconButton label="Search" onClick={() => setPaletteOpen(true)}>
            <Icon name="search" size={18} />
          </IconButton>
        </header>
        <main
          id="content"
          tabIndex={-1}
          // Positioned, so that hidden texts for screen readers scroll with it.
          className="relative min-h-0 min-w-0 flex-1 overflow-y-auto outline-none lg:[scrollbar-gutter:stable] print:overflow-visible"
        >
          <ShownPage value={shown}>
            <Suspense fallback={<PageIsLoading />}>
              <Outlet />
            </Suspense>
          </ShownPage>
        </main>
      </div>
      <Secrets />
      <CommandPalette isOpen={isPaletteOpen} onOpenChange={setPaletteOpen} />
    </div>
  )
}

/** The place of a page whose program is loading. It has the page's name already. */
function PageIsLoading() {
  const { pathname } = useLocation()
  const name = ALL_PAGES.find(({ path }) => path === `/${pathname.split('/')[1]}`)?.name ?? 'Laurel'
  return (
    <Page name={name} isLoading>
      <span />
    </Page>
  )
}

/** The logo, with the name of the environment if it is not production. */
function Wordmark() {
  const admin = useAdmin()
  const environments = useQuery({
    queryKey: ['environments'],
    queryFn: () => admin.environments(),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const other = environments.data?.find(({ key }) => key !== 'production')
  return (
    <span className="flex min-w-0 items-center gap-2 px-1.5 text-lg font-semibold tracking-tight">
      <img src={icon} alt="" width={24} height={24} />
      Laurel
      {other !== undefined && (
        <Badge tone="warning">
          <span className="max-w-28 truncate">{other.name}</span>
        </Badge>
      )}
    </span>
  )
}

function Sidebar({ onSearch, onLeave }: { onSearch: () => void; onLeave?: () => void }) {
  const session = useSession()
  const { signedIn } = useSessionState()
  return (
    <>
      <div className="flex flex-col gap-4 px-3 pt-5 pb-3">
        <Wordmark />
        {signedIn?.multiTenancy === true && <TenantSwitch />}
        <Button className="justify-start! text-quiet!" isSmall onClick={onSearch}>
          <Icon name="search" size={15} />
          <span className="flex-1 text-left">Search</span>
          <kbd className="rounded-sm border border-line px-1.5 font-sans text-xs">
            {isApple ? '⌘K' : 'Ctrl K'}
          </kbd>
        </Button>
      </div>
      <nav aria-label="Main" className="flex-1 overflow-y-auto px-3 pb-4 low:overflow-visible">
        {NAVIGATION.map(({ title, items }) => (
          <div key={title ?? ''}>
            {title !== null && <p className="px-2.5 pt-4 pb-1.5 text-xs font-medium text-faint">{title}</p>}
            <ul className="flex flex-col gap-px">
              {items.map(({ name, path, icon }) => (
                <li key={path}>
                  <Link
                    to={path}
                    onClick={onLeave}
                    activeOptions={{ exact: path === '/', includeSearch: false }}
                    className="flex items-center gap-2.5 rounded-md px-2.5 py-1 font-medium text-quiet pointer-coarse:py-2 hover:bg-hover hover:text-text focus-visible:-outline-offset-2 aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent"
                  >
                    <Icon name={icon} size={16} />
                    {name}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="flex flex-col gap-px border-t border-line p-3">
        <a
          href="/docs"
          target="_blank"
          rel="noreferrer"
          className={classes(buttonClasses('quiet', true), 'w-full justify-start!')}
        >
          <Icon name="book-open" size={15} />
          API reference
        </a>
        <LeaveButton look="quiet" className="w-full justify-start!" isSmall onLeave={() => session.end()}>
          <Icon name="log-out" size={15} />
          Sign out
        </LeaveButton>
      </div>
    </>
  )
}
