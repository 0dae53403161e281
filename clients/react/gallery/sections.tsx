import { type ReactNode, useState } from 'react'
import {
  AchievementGrid,
  AwardToast,
  Energy,
  type GroupData,
  LaurelSettings,
  Leaderboard,
  type LeaderboardData,
  LevelProgress,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
} from '../src/index.ts'
import { withPreviousRanks } from '../src/view/ranking.ts'
import * as data from './data.ts'

const failed = { error: new Error('The server cannot be reached.'), refetch: () => undefined }

interface SectionProps {
  name: string
  isWide?: boolean
  children: ReactNode
}

const Section = ({ name, isWide = false, children }: SectionProps) => (
  <section className={`gallery-section${isWide ? ' gallery-wide' : ''}`} data-section={name}>
    <h2>{name}</h2>
    <div className="gallery-grid">{children}</div>
  </section>
)

const Item = ({ state, children }: { state: string; children: ReactNode }) => (
  <div className="gallery-item">
    <p>{state}</p>
    {children}
  </div>
)

/** All components in all states. */
export const Sections = () => (
  <>
    <Section name="Streak counter">
      <Item state="Done for today">
        <StreakCounter data={{ ...data.streakSafe, length: 12 }} />
      </Item>
      <Item state="Open today">
        <StreakCounter data={data.streakOpen} />
      </Item>
      <Item state="No streak">
        <StreakCounter data={{ ...data.streakNone, freezes: 0 }} />
      </Item>
      <Item state="Large numbers">
        <StreakCounter data={data.streakLong} />
      </Item>
      <Item state="Weekly">
        <StreakCounter data={data.weekly} />
      </Item>
      <Item state="Without freezes">
        <StreakCounter data={data.streakWithoutFreezes} />
      </Item>
      <Item state="Loading">
        <StreakCounter isLoading />
      </Item>
      <Item state="Failed">
        <StreakCounter {...failed} />
      </Item>
    </Section>
    <Section name="Streak calendar">
      <Item state="Daily, done for today">
        <StreakCalendar data={data.streakSafe} />
      </Item>
      <Item state="Daily, open today">
        <StreakCalendar data={data.streakOpen} />
      </Item>
      <Item state="Daily, no streak">
        <StreakCalendar data={data.streakNone} />
      </Item>
      <Item state="Loading">
        <StreakCalendar isLoading />
      </Item>
      <Item state="Weekly">
        <StreakCalendar data={data.weekly} />
      </Item>
      <Item state="Monthly">
        <StreakCalendar data={data.monthly} />
      </Item>
      <Item state="Failed">
        <StreakCalendar {...failed} />
      </Item>
    </Section>
    <Section name="Points counter">
      <Item state="Points that grow">
        <GrowingPoints />
      </Item>
      <Item state="With a picture">
        <PointsCounter data={{ name: 'Coins', total: 0, badgeUrl: data.achievements[1]?.badgeUrl ?? null }} />
      </Item>
      <Item state="Large numbers, long name, broken picture">
        <PointsCounter
          data={{
            name: 'Points of merit of the Northern Reading Society',
            total: 9_007_199_254_740,
            badgeUrl: data.BROKEN,
          }}
        />
      </Item>
      <Item state="Loading">
        <PointsCounter isLoading />
      </Item>
      <Item state="Failed">
        <PointsCounter {...failed} />
      </Item>
    </Section>
    <Section name="Level progress">
      <Item state="Between two levels">
        <LevelProgress data={data.levelMiddle} />
      </Item>
      <Item state="Highest level">
        <LevelProgress data={data.levelTop} />
      </Item>
      <Item state="No level yet">
        <LevelProgress data={data.levelNone} />
      </Item>
      <Item state="Large numbers, long names">
        <LevelProgress data={data.levelLong} />
      </Item>
      <Item state="Loading">
        <LevelProgress isLoading />
      </Item>
      <Item state="Failed">
        <LevelProgress {...failed} />
      </Item>
    </Section>
    <Section name="Energy">
      <Item state="Growing">
        <Energy data={data.energySome} />
      </Item>
      <Item state="Full">
        <Energy data={data.energyFull} />
      </Item>
      <Item state="Empty, next gain not known">
        <Energy data={data.energyNone} />
      </Item>
      <Item state="Large numbers, long name">
        <Energy data={data.energyMany} />
      </Item>
      <Item state="Loading">
        <Energy isLoading />
      </Item>
      <Item state="Failed">
        <Energy {...failed} />
      </Item>
    </Section>
    <Section name="Achievement grid" isWide>
      <Item state="Completed, in progress, locked, long texts, broken picture">
        <AchievementGrid data={data.achievements} />
      </Item>
      <Item state="Loading">
        <AchievementGrid isLoading />
      </Item>
      <Item state="Empty">
        <AchievementGrid data={[]} />
      </Item>
      <Item state="Failed">
        <AchievementGrid {...failed} />
      </Item>
    </Section>
    <Section name="Leaderboard">
      <Item state="Own row on the page">
        <Leaderboard data={data.board} />
      </Item>
      <Item state="Live, own row pinned">
        <LiveBoard />
      </Item>
      <Item state="Groups">
        <Groups groups={data.teams} board={data.board} />
      </Item>
      <Item state="Many groups, not ranked">
        <Groups groups={data.cities} board={data.boardUnranked} />
      </Item>
      <Item state="Not ranked, with a name">
        <Leaderboard data={data.boardUnrankedNamed} />
      </Item>
      <Item state="Pictures of the app">
        <LaurelSettings avatar={data.avatar}>
          <Leaderboard data={data.board} />
        </LaurelSettings>
      </Item>
      <Item state="Scrolling, own row stays in view">
        <Leaderboard data={data.boardScroll} maxHeight={272} />
      </Item>
      <Item state="Long names, large numbers">
        <Leaderboard data={data.boardLong} />
      </Item>
      <Item state="Final">
        <Leaderboard data={data.boardFinal} />
      </Item>
      <Item state="Loading">
        <Leaderboard isLoading />
      </Item>
      <Item state="Empty">
        <Leaderboard data={{ ...data.boardUnranked, rankings: [] }} />
      </Item>
      <Item state="Failed">
        <Leaderboard {...failed} />
      </Item>
    </Section>
    <Section name="Award toast">
      <Item state="Several changes">
        <div className="gallery-toast">
          <AwardToast
            changes={data.changes}
            duration={Number.POSITIVE_INFINITY}
            onDismiss={() => undefined}
          />
        </div>
      </Item>
      <Item state="Long name">
        <div className="gallery-toast">
          <AwardToast
            changes={data.changesLong}
            duration={Number.POSITIVE_INFINITY}
            onDismiss={() => undefined}
          />
        </div>
      </Item>
      <Item state="In its place on the page">
        <OpenToast />
      </Item>
    </Section>
  </>
)

function GrowingPoints() {
  const [total, setTotal] = useState(2460)
  return (
    <>
      <PointsCounter data={{ name: 'XP', total }} />
      <p>
        <button type="button" className="gallery-button" onClick={() => setTotal(total + 50)}>
          Give 50
        </button>
      </p>
    </>
  )
}

function LiveBoard() {
  const [board, setBoard] = useState<LeaderboardData>(data.boardOutside)
  const overtake = () => {
    const scored = board.rankings.map((row, index) => ({
      ...row,
      value: row.value + (index === 3 ? 700 : 0),
    }))
    const ranked = scored.sort((a, b) => b.value - a.value).map((row, index) => ({ ...row, rank: index + 1 }))
    const own = board.own && { ...board.own, rank: (board.own.rank ?? 0) - 3, previousRank: board.own.rank }
    setBoard({ ...board, own, rankings: withPreviousRanks(ranked, board.rankings) })
  }
  return (
    <>
      <Leaderboard data={board} isLive />
      <p>
        <button type="button" className="gallery-button" onClick={overtake}>
          Let rank 4 overtake
        </button>
      </p>
    </>
  )
}

function Groups({ groups, board }: { groups: GroupData[]; board: LeaderboardData }) {
  const [group, setGroup] = useState(groups[0])
  return <Leaderboard data={board} groups={groups} group={group} onGroupChange={setGroup} />
}

function OpenToast() {
  const [toasts, setToasts] = useState({ id: 0, isOpen: false })
  return (
    <>
      <button
        type="button"
        className="gallery-button"
        onClick={() => setToasts({ id: toasts.id + 1, isOpen: true })}
      >
        Show the toast
      </button>
      <AwardToast
        changes={toasts.isOpen ? data.changes : []}
        toastId={toasts.id}
        onDismiss={() => setToasts({ ...toasts, isOpen: false })}
      />
    </>
  )
}
