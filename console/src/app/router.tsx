import { createRootRoute, createRoute, createRouter, Link, type RouteComponent } from '@tanstack/react-router'
import { use } from 'react'
import { messageOf } from '../api/errors'
import { useKept } from '../session/session-context'
import { SEARCH } from '../ui/address'
import { Button, buttonClasses } from '../ui/button'
import { Empty, Page } from '../ui/page'
import { newHistory } from './history'
import { Layout } from './layout'
import { ALL_PAGES, type PageModule } from './navigation'

/** A page whose module is loaded when it is opened, and again after a failure. */
function lazyPage(load: PageModule): RouteComponent {
  let loading: ReturnType<PageModule> | null = null
  const preload = () => {
    loading ??= load().catch((error: unknown) => {
      loading = null
      throw error
    })
    return loading
  }
  function LazyPage() {
    const { default: Page } = use(preload())
    return <Page />
  }
  return Object.assign(LazyPage, { preload: async () => void (await preload()) })
}

/** The page of a path that leads nowhere. */
const NotFoundPage = () => (
  <Page name="Page not found">
    <Empty
      title="There is no page at this address"
      action={
        <Link to="/" className={buttonClasses('primary')}>
          Go to the overview
        </Link>
      }
    >
      It may have been deleted or renamed.
    </Empty>
  </Page>
)

/** Is shown instead of a page that failed. The rest of the console goes on. */
function ErrorPage({ error }: { error: unknown }) {
  const kept = useKept()
  // A browser does not ask again for a file of the page that it could not load.
  const again = <Button onClick={() => kept.reload()}>Try again</Button>
  return (
    <Page name="Something went wrong">
      <Empty title="This page could not be shown" action={again}>
        {messageOf(error)}
      </Empty>
    </Page>
  )
}

const root = createRootRoute({
  component: Layout,
  notFoundComponent: NotFoundPage,
  errorComponent: ErrorPage,
})

/** The rest of the addresses of a resource: one item, and what is done with it. */
const ITEM = '/{-$id}/{-$action}'

const routes = ALL_PAGES.map(({ path, one, parts = one === undefined ? '' : ITEM, page }) =>
  createRoute({ getParentRoute: () => root, path: `${path}${parts}`, component: lazyPage(page) }),
)

export const newRouter = () =>
  createRouter({
    routeTree: root.addChildren(routes),
    history: newHistory(),
    ...SEARCH,
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: ErrorPage,
    scrollRestoration: true,
    // sessionStorage keeps these names longer than a session, and an address may have the id of a user.
    getScrollRestorationKey: ({ state }) => state.__TSR_key ?? 'first',
    scrollToTopSelectors: ['#content'],
  })
