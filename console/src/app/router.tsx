import { createRootRoute, createRoute, createRouter, type RouteComponent } from '@tanstack/react-router'
import { use } from 'react'
import { ErrorPage, NotFoundPage } from './error-page'
import { Layout } from './layout'

/** The module of a page, which is loaded when the page is opened. */
type PageModule = () => Promise<{ default: RouteComponent }>

/** Every page by its path. `{-$name}` is a parameter that may be missing. */
const PAGES: Readonly<Record<string, PageModule>> = {
  '/': () => import('../features/overview/overview.page'),
  '/users/{-$id}/{-$part}': () => import('../features/users/users.page'),
  '/metrics/{-$id}/{-$action}': () => import('../features/metrics/metrics.page'),
  '/points/{-$id}/{-$action}': () => import('../features/points/points.page'),
  '/streaks': () => import('../features/streaks/streaks.page'),
  '/achievements/{-$id}/{-$action}': () => import('../features/achievements/achievements.page'),
  '/leaderboards/{-$id}/{-$action}': () => import('../features/leaderboards/leaderboards.page'),
  '/attributes/{-$id}/{-$action}': () => import('../features/attributes/attributes.page'),
  '/webhooks/{-$id}/{-$action}': () => import('../features/webhooks/webhooks.page'),
  '/notifications/{-$id}/{-$action}': () => import('../features/notifications/notifications.page'),
  '/api-keys/{-$action}': () => import('../features/api-keys/api-keys.page'),
  '/settings': () => import('../features/settings/settings.page'),
  '/audit-log': () => import('../features/audit-log/audit-log.page'),
  '/status': () => import('../features/status/status.page'),
}

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

const routes = Object.entries(PAGES).map(([path, load]) =>
  createRoute({ getParentRoute: () => root, path, component: lazyPage(load) }),
)

export const newRouter = () =>
  createRouter({
    routeTree: root.addChildren(routes),
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: ErrorPage,
    scrollRestoration: true,
    // sessionStorage keeps these names longer than a session, and an address may have the id of a user.
    getScrollRestorationKey: ({ state }) => state.__TSR_key ?? 'first',
    scrollToTopSelectors: ['#content'],
  })
