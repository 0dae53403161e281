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

/** A page that the navigation leads to. */
export type NavigationItem = {
  name: string
  path: string
  icon: LucideIcon
  /** More words by which the command palette finds it. */
  words?: string
}

/** The pages, in the order of the navigation. A group without a title is the first one. */
export const NAVIGATION: readonly { title: string | null; items: readonly NavigationItem[] }[] = [
  {
    title: null,
    items: [
      { name: 'Overview', path: '/', icon: ChartLine, words: 'home dashboard analytics retention' },
      { name: 'Users', path: '/users', icon: Users, words: 'people search' },
    ],
  },
  {
    title: 'Configure',
    items: [
      { name: 'Metrics', path: '/metrics', icon: Gauge, words: 'events' },
      { name: 'Points', path: '/points', icon: Sparkles, words: 'systems levels triggers boosts xp' },
      { name: 'Streaks', path: '/streaks', icon: Flame, words: 'freezes' },
      { name: 'Achievements', path: '/achievements', icon: Award, words: 'badges' },
      { name: 'Leaderboards', path: '/leaderboards', icon: Trophy, words: 'rankings leagues' },
      { name: 'Attributes', path: '/attributes', icon: Tags, words: 'fields filters' },
    ],
  },
  {
    title: 'Connect',
    items: [
      { name: 'Webhooks', path: '/webhooks', icon: Webhook, words: 'deliveries' },
      { name: 'Notifications', path: '/notifications', icon: Bell, words: 'emails push templates' },
      { name: 'API keys', path: '/api-keys', icon: KeyRound, words: 'secrets' },
    ],
  },
  {
    title: 'Manage',
    items: [
      { name: 'Settings', path: '/settings', icon: Settings, words: 'control group tenants' },
      { name: 'Audit log', path: '/audit-log', icon: ScrollText, words: 'changes history who' },
      { name: 'Status', path: '/status', icon: HeartPulse, words: 'health databases queues' },
    ],
  },
]

export const ALL_PAGES: readonly NavigationItem[] = NAVIGATION.flatMap(({ items }) => items)
