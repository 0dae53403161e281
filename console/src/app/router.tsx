import { createRootRoute, createRoute, createRouter, type RouteComponent } from '@tanstack/react-router'
import { use } from 'react'
import { ErrorPage, NotFoundPage } from './error-page'
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
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: ErrorPage,
    scrollRestoration: true,
    // sessionStorage keeps these names longer than a session, and an address may have the id of a user.
    getScrollRestorationKey: ({ state }) => state.__TSR_key ?? 'first',
    scrollToTopSelectors: ['#content'],
  })
