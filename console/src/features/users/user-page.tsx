import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useLaurel } from '../../api/laurel'
import { AbsentPage } from '../../api/paging'
import { buttonClasses } from '../../ui/button'
import { Badge, Code, Page } from '../../ui/page'
import { Tabs } from '../../ui/tabs'
import { nameOr } from '../../ui/text'
import { AchievementsTab } from './achievements-tab'
import { UserActions } from './actions/user-actions'
import { PreferencesTab } from './preferences-tab'
import { SummaryTab } from './summary-tab'
import { Timeline } from './timeline/timeline'
import { UserForm } from './user-form'
import { keyOfUser, pathOfUser, USERS } from './user-paths'

const TABS = [
  { value: 'summary', name: 'Summary', Content: SummaryTab },
  { value: 'timeline', name: 'Timeline', Content: Timeline },
  { value: 'achievements', name: 'Achievements', Content: AchievementsTab },
  { value: 'preferences', name: 'Preferences', Content: PreferencesTab },
] as const

/** The page of one user. Each of its parts has an address. */
export function UserPage({ id, part = '' }: { id: string; part?: string | undefined }) {
  const laurel = useLaurel()
  const navigate = useNavigate()
  const query = useQuery({ queryKey: keyOfUser(id, 'profile'), queryFn: () => laurel.users.get(id) })
  const { data: user } = query
  const above = (
    <Link to={USERS} activeOptions={{ exact: true }} className="rounded-sm hover:underline">
      Users
    </Link>
  )
  if (user === undefined)
    return (
      <AbsentPage
        name={id}
        above={above}
        query={query}
        none={{
          title: 'There is no user with this id',
          text: 'The user may have been erased, or has not been seen yet.',
        }}
      />
    )
  return (
    <>
      <Page
        name={nameOr(user.name, id)}
        above={above}
        beside={user.control && <Badge>control group</Badge>}
        intro={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            {nameOr(user.name, id) !== id && <Code>{id}</Code>}
            {user.email !== null && <span className="break-all">{user.email}</span>}
            <span>{user.tz ?? 'UTC'}</span>
          </span>
        }
        actions={
          <>
            <UserActions user={user} />
            <Link to={pathOfUser(id, 'edit')} resetScroll={false} className={buttonClasses('primary')}>
              Edit
            </Link>
          </>
        }
      >
        <Tabs
          label="Parts of this page"
          value={TABS.find(({ value }) => value === part)?.value ?? 'summary'}
          tabs={TABS.map(({ value, name, Content }) => ({
            value,
            name,
            path: pathOfUser(id, value),
            content: () => <Content user={user} />,
          }))}
        />
      </Page>
      {part === 'edit' && (
        <UserForm user={user} onClose={() => navigate({ to: pathOfUser(id), resetScroll: false })} />
      )}
    </>
  )
}
