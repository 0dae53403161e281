import type { RouteComponent } from '@tanstack/react-router'
import {
  Award,
  Bell,
  ChartLine,
  Flame,
  Gauge,
  HeartPulse,
  KeyRound,
  type LucideIcon,
  ScrollText,
  Settings,
  Sparkles,
  Tags,
  Trophy,
  Users,
  Webhook,
} from 'lucide-react'

/** The module of a page, which is loaded when the page is opened. */
export type PageModule = () => Promise<{ default: RouteComponent }>

/** A page that the navigation leads to. */
export type NavigationItem = {
  name: string
  path: string
  icon: LucideIcon
  /** More words by which the command palette finds it. */
  words?: string
  /** The rest of its address. `{-$name}` is a parameter that may be missing. */
  parts?: string
  page: PageModule
}

/** The rest of the addresses of a resource: one item, and what is done with it. */
const ITEM = '/{-$id}/{-$action}'

/** The pages, in the order of the navigation. A group without a title is the first one. */
export const NAVIGATION: readonly { title: string | null; items: readonly NavigationItem[] }[] = [
  {
    title: null,
    items: [
      {
        name: 'Overview',
        path: '/',
        icon: ChartLine,
        words: 'home dashboard analytics retention',
        page: () => import('../features/overview/overview.page'),
      },
      {
        name: 'Users',
        path: '/users',
        icon: Users,
        words: 'people search',
        parts: '/{-$id}/{-$part}',
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
        icon: Gauge,
        words: 'events',
        parts: ITEM,
        page: () => import('../features/metrics/metrics.page'),
      },
      {
        name: 'Points',
        path: '/points',
        icon: Sparkles,
        words: 'systems levels triggers boosts xp',
        parts: ITEM,
        page: () => import('../features/points/points.page'),
      },
      {
        name: 'Streaks',
        path: '/streaks',
        icon: Flame,
        words: 'freezes',
        page: () => import('../features/streaks/streaks.page'),
      },
      {
        name: 'Achievements',
        path: '/achievements',
        icon: Award,
        words: 'badges',
        parts: ITEM,
        page: () => import('../features/achievements/achievements.page'),
      },
      {
        name: 'Leaderboards',
        path: '/leaderboards',
        icon: Trophy,
        words: 'rankings leagues',
        parts: ITEM,
        page: () => import('../features/leaderboards/leaderboards.page'),
      },
      {
        name: 'Attributes',
        path: '/attributes',
        icon: Tags,
        words: 'fields filters',
        parts: ITEM,
        page: () => import('../features/attributes/attributes.page'),
      },
    ],
  },
  {
    title: 'Connect',
    items: [
      {
        name: 'Webhooks',
        path: '/webhooks',
        icon: Webhook,
        words: 'deliveries',
        parts: ITEM,
        page: () => import('../features/webhooks/webhooks.page'),
      },
      {
        name: 'Notifications',
        path: '/notifications',
        icon: Bell,
        words: 'emails push templates',
        parts: ITEM,
        page: () => import('../features/notifications/notifications.page'),
      },
      {
        name: 'API keys',
        path: '/api-keys',
        icon: KeyRound,
        words: 'secrets',
        parts: '/{-$action}',
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
        icon: Settings,
        words: 'control group tenants',
        page: () => import('../features/settings/settings.page'),
      },
      {
        name: 'Audit log',
        path: '/audit-log',
        icon: ScrollText,
        words: 'changes history who',
        page: () => import('../features/audit-log/audit-log.page'),
      },
      {
        name: 'Status',
        path: '/status',
        icon: HeartPulse,
        words: 'health databases queues',
        page: () => import('../features/status/status.page'),
      },
    ],
  },
]

export const ALL_PAGES: readonly NavigationItem[] = NAVIGATION.flatMap(({ items }) => items)
