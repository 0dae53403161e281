import type { AuditLogEntry } from '@laurel/client'
import type { RouteComponent } from '@tanstack/react-router'
import type { Named } from '../resource/lookups'
import type { Admin } from '../resource/resource'
import type { IconName } from '../ui/icon'

/** The module of a page, which is loaded when the page is opened. */
export type PageModule = () => Promise<{ default: RouteComponent }>

type Things = {
  /** Set if their addresses have the id, not the key. */
  pathsBy?: 'id'
  all: (admin: Admin) => Promise<readonly Named[]>
}

/** A page that the navigation leads to. */
export type NavigationItem = {
  name: string
  path: string
  icon: IconName
  /** More words by which the command palette finds it. */
  words?: string
  /** The rest of its address. `{-$name}` is a parameter that may be missing. By default, that of a resource. */
  parts?: string
  /** The word for one thing that its form creates, such as `metric`. The form is at `/new`. */
  one?: string
  /** The kind of these things in the audit log, which then links to them. */
  kind?: AuditLogEntry['kind']
  /** The configured things that it shows, as the command palette finds them. */
  things?: Things
  page: PageModule
}

/** Pages under one title. The first group has none. */
type Group = { title: string | null; items: readonly NavigationItem[] }

const GROUPS = [
  {
    title: null,
    items: [
      {
        name: 'Overview',
        path: '/',
        icon: 'chart-line',
        words: 'home dashboard analytics retention',
        page: () => import('../features/overview/overview.page'),
      },
      {
        name: 'Users',
        path: '/users',
        icon: 'users',
        words: 'people search',
        parts: '/{-$id}/{-$part}',
        one: 'user',
        page: () => import('../features/users/users.page'),
      },
    ],
  },
  {
    title: 'Configure',
    items: [
      {
        name: 'Metrics',
        path: '/metrics',
        icon: 'gauge',
        words: 'events',
        one: 'metric',
        kind: 'metric',
        things: { all: (admin) => admin.metrics.list().toArray() },
        page: () => import('../features/metrics/metrics.resource'),
      },
      {
        name: 'Points',
        path: '/points',
        icon: 'sparkles',
        words: 'systems levels triggers boosts xp',
        one: 'points system',
        kind: 'points_system',
        things: { all: (admin) => admin.points.list().toArray() },
        page: () => import('../features/points/points.resource'),
      },
      {
        name: 'Streaks',
        path: '/streaks',
        icon: 'flame',
        words: 'freezes',
        page: () => import('../features/streaks/streaks.page'),
      },
      {
        name: 'Achievements',
        path: '/achievements',
        icon: 'award',
        words: 'badges',
        one: 'achievement',
        kind: 'achievement',
        things: { all: (admin) => admin.achievements.list().toArray() },
        page: () => import('../features/achievements/achievements.resource'),
      },
      {
        name: 'Leaderboards',
        path: '/leaderboards',
        icon: 'trophy',
        words: 'rankings leagues',
        one: 'leaderboard',
        kind: 'leaderboard',
        things: { all: (admin) => admin.leaderboards.list().toArray() },
        page: () => import('../features/leaderboards/leaderboards.resource'),
      },
      {
        name: 'Attributes',
        path: '/attributes',
        icon: 'tags',
        words: 'fields filters',
        one: 'attribute',
        kind: 'attribute',
        things: { pathsBy: 'id', all: (admin) => admin.attributes.list().toArray() },
        page: () => import('../features/attributes/attributes.resource'),
      },
    ],
  },
  {
    title: 'Connect',
    items: [
      {
        name: 'Webhooks',
        path: '/webhooks',
        icon: 'webhook',
        words: 'deliveries',
        one: 'webhook',
        kind: 'webhook',
        things: {
          all: async (admin) =>
            (await admin.webhooks.list().toArray()).map(({ id, key, url }) => ({
              id,
              key,
              name: url,
            })),
        },
        page: () => import('../features/webhooks/webhooks.resource'),
      },
      {
        name: 'Notifications',
        path: '/notifications',
        icon: 'bell',
        words: 'emails push templates',
        one: 'template',
        kind: 'notification_template',
        page: () => import('../features/notifications/templates.resource'),
      },
      {
        name: 'API keys',
        path: '/api-keys',
        icon: 'key-round',
        words: 'secrets',
        parts: '/{-$action}',
        one: 'application key',
        page: () => import('../features/api-keys/api-keys.page'),
      },
    ],
  },
  {
    title: 'Manage',
    items: [
      {
        name: 'Settings',
        path: '/settings',
        icon: 'settings',
        words: 'control group tenants',
        page: () => import('../features/settings/settings.page'),
      },
      {
        name: 'Audit log',
        path: '/audit-log',
        icon: 'scroll-text',
        words: 'changes history who',
        page: () => import('../features/audit-log/audit-log.page'),
      },
      {
        name: 'Status',
        path: '/status',
        icon: 'heart-pulse',
        words: 'health databases queues',
        page: () => import('../features/status/status.page'),
      },
    ],
  },
] as const satisfies readonly Group[]

/** The pages, in the order of the navigation. */
export const NAVIGATION: readonly Group[] = GROUPS

/** The kinds of the audit log that have a page. */
export type KindWithPage = Extract<(typeof GROUPS)[number]['items'][number], { kind: string }>['kind']

export const ALL_PAGES: readonly NavigationItem[] = NAVIGATION.flatMap(({ items }) => items)
