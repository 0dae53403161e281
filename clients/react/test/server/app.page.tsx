import { Laurel } from '@laurel/client/app'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import {
  AchievementGrid,
  AwardToast,
  type GroupData,
  LaurelProvider,
  Leaderboard,
  LevelProgress,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
  useAchievements,
  useLeaderboard,
  useLeaderboardGroups,
  useLevel,
  usePoints,
  useSendEvent,
  useStreak,
  useUser,
} from '../../src/index.ts'

/** An app that shows the state of a user on the demo, and sends an event. */
export function start(url: string, apiKey: string, userId: string): void {
  const root = document.createElement('main')
  document.body.append(root)
  createRoot(root).render(
    <LaurelProvider client={new Laurel({ url, apiKey })} userId={userId}>
      <App />
    </LaurelProvider>,
  )
}

/** A leaderboard with groups. It begins with the user's own one. */
function Plans() {
  const groups = useLeaderboardGroups('demo-minutes-by-plan').data
  const [chosen, choose] = useState<GroupData>()
  const group = chosen ?? groups?.[0] ?? null
  const board = useLeaderboard('demo-minutes-by-plan', { group, live: true })
  return (
    <Leaderboard
      {...board}
      groups={groups}
      group={group ?? undefined}
      onGroupChange={choose}
      maxHeight={420}
      id="plans"
    />
  )
}

function App() {
  const event = useSendEvent()
  const streak = useStreak()
  return (
    <>
      <h1>{useUser().data?.name}</h1>
      <StreakCounter {...streak} id="streak" />
      <StreakCalendar {...streak} />
      <PointsCounter {...usePoints('demo-xp')} id="points" />
      <LevelProgress {...useLevel('demo-xp')} />
      <AchievementGrid {...useAchievements()} />
      <Leaderboard {...useLeaderboard('demo-all-time', { live: true })} id="board" />
      <Plans />
      <button type="button" onClick={() => void event.send('demo-lessons', { value: 3 })}>
        Learn
      </button>
      <AwardToast {...event} id="toast" />
    </>
  )
}
