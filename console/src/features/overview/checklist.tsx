import { type QueryClient, useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAdmin } from '../../api/laurel'
import type { Admin } from '../../resource/resource'
import { Icon } from '../../ui/icon'
import { Card } from '../../ui/page'
import { webhooksQuery } from '../webhooks/health'

type Step = {
  name: string
  /** Its use. */
  about: string
  /** The page on which it is done. */
  path: string
  /** Whether nothing works without it. */
  isNeeded?: boolean
  /** Whether it happens outside of the console, so that the page has to look again. */
  isDoneElsewhere?: boolean
  isDone: (admin: Admin, client: QueryClient) => Promise<boolean>
}

export type SetupItem = Omit<Step, 'isDone'> & { isDone: boolean }

/** How long the page waits before it looks again for a step that is done elsewhere, in milliseconds. */
const LOOK_AGAIN = 5_000

/** Whether a list has an item. It asks for one only. */
const hasOne = async (list: PromiseLike<readonly unknown[]>) => (await list).length > 0
const ONE = { limit: 1 }

/** The steps that a tenant needs, in their order. */
const STEPS: readonly Step[] = [
  {
    name: 'Create a metric',
    about: 'It counts what users do, such as lessons.',
    path: '/metrics',
    isNeeded: true,
    isDone: (admin) => hasOne(admin.metrics.list(ONE)),
  },
  {
    name: 'Create an API key for your product',
    about: 'Your product sends events with it.',
    path: '/api-keys',
    isDone: async (admin) =>
      (await hasOne(admin.adminKeys.list(ONE))) || (await hasOne(admin.applicationKeys.list(ONE))),
  },
  {
    name: 'See the first user',
    about: 'Send an event, or create a user to try things out.',
    path: '/users',
    isNeeded: true,
    isDoneElsewhere: true,
    isDone: (admin) => hasOne(admin.users.list(ONE)),
  },
  {
    name: 'Give points',
    about: 'A points system, such as XP, with levels and triggers.',
    path: '/points',
    isDone: (admin) => hasOne(admin.points.list(ONE)),
  },
  {
    name: 'Switch streaks on',
    about: 'They count the days on which a user is active.',
    path: '/streaks',
    isDone: async (admin) => (await admin.streaks.settings.get()).enabled,
  },
  {
    name: 'Create an achievement',
    about: 'A goal that users complete once.',
    path: '/achievements',
    isDone: (admin) => hasOne(admin.achievements.list(ONE)),
  },
  {
    name: 'Create a leaderboard',
    about: 'A ranking of all users or of groups, for example by week.',
    path: '/leaderboards',
    isDone: (admin) => hasOne(admin.leaderboards.list(ONE)),
  },
  {
    name: 'Connect a webhook',
    about: 'Your product hears at once what happens here.',
    path: '/webhooks',
    isDone: (admin, client) => hasOne(client.fetchQuery(webhooksQuery(admin))),
  },
  {
    name: 'Write a notification',
    about: 'Emails and push messages bring users back.',
    path: '/notifications',
    isDone: (admin) => hasOne(admin.notifications.templates.list(ONE)),
  },
]

/**
 * The steps that are done, and those that are still missing. Null while they are loading. A step that can't
 * be read is left out.
 */
export function useSetup(): readonly SetupItem[] | null {
  const admin = useAdmin()
  const answers = useQueries({
    queries: STEPS.map(({ path, isDone, isDoneElsewhere = false }) => ({
      queryKey: [path, 'setup'],
      queryFn: ({ client }: { client: QueryClient }) => isDone(admin, client),
      staleTime: 30_000,
      refetchInterval: ({ state }: { state: { data: boolean | undefined } }) =>
        isDoneElsewhere && state.data === false && LOOK_AGAIN,
    })),
  })
  if (answers.some(({ isPending }) => isPending)) return null
  return STEPS.flatMap((step, index) => {
    const isDone = answers[index]?.data
    return isDone === undefined ? [] : [{ ...step, isDone }]
  })
}

/** The steps of the setup. Each leads to its page. */
export function Checklist({ items }: { items: readonly SetupItem[] }) {
  const done = items.filter(({ isDone }) => isDone).length
  return (
    <Card title="Setup" about={`${done} of ${items.length} steps are done.`} flush>
      <ul className="grid overflow-hidden rounded-b-lg sm:grid-cols-2 lg:grid-cols-3">
        {items.map(({ name, about, path, isDone }) => (
          <li key={path} className="-ml-px border-t border-l border-line">
            <Link
              to={path}
              className="group flex h-full items-start gap-3 px-5 py-3.5 hover:bg-hover focus-visible:-outline-offset-2"
            >
              <Icon
                name={isDone ? 'circle-check' : 'circle'}
                size={18}
                className={isDone ? 'mt-0.5 shrink-0 text-accent' : 'mt-0.5 shrink-0 text-quiet'}
              />
              <span className="min-w-0 flex-1">
                <span className={isDone ? 'text-quiet' : 'font-medium'}>{name}</span>
                <span className="sr-only">{isDone ? ' (done)' : ' (missing)'}</span>
                {!isDone && <span className="block text-sm text-quiet">{about}</span>}
              </span>
              {!isDone && (
                <Icon
                  name="arrow-right"
                  size={15}
                  className="mt-1 shrink-0 text-quiet group-hover:text-text"
                />
              )}
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}
