import { Laurel } from '@laurel/client/app'
import { createRoot } from 'react-dom/client'
import {
  AchievementGrid,
  AwardToast,
  LaurelProvider,
  Leaderboard,
  LevelProgress,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
  useAchievements,
  useLeaderboard,
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
      <button type="button" onClick={() => void event.send('demo-lessons', { value: 3 })}>
        Learn
      </button>
      <AwardToast {...event} id="toast" />
    </>
  )
}
