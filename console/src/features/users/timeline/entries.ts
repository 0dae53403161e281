/** Entries of the timeline in words. */
import type { TimelineEntry } from '@laurel/client'
import type { Lookups } from '../../../resource/lookups'
import { counted, formatDate, formatNumber } from '../../../ui/format'
import type { IconName } from '../../../ui/icon'
import { nameOr, say } from '../../../ui/text'
import { signed } from './explanation'

type Type = TimelineEntry['type']

/** The types of entries, with their names and symbols. */
export const TYPES: Readonly<Record<Type, { name: string; icon: IconName }>> = {
  event: { name: 'Events', icon: 'circle-dot' },
  award: { name: 'Points', icon: 'sparkles' },
  level_changed: { name: 'Levels', icon: 'medal' },
  achievement: { name: 'Achievements', icon: 'award' },
  streak: { name: 'Streak', icon: 'flame' },
  adjustment: { name: 'Adjustments', icon: 'sliders-horizontal' },
  void: { name: 'Voided events', icon: 'ban' },
  notification: { name: 'Notifications', icon: 'bell' },
  change: { name: 'Profile changes', icon: 'pencil' },
}

/** An entry in words: what happened, and what else is worth knowing. */
type EntryWords = { title: string; details: readonly string[] }

type Names = Pick<Lookups, 'metrics' | 'points'>

export function entryInWords(entry: TimelineEntry, { metrics, points }: Names): EntryWords {
  switch (entry.type) {
    case 'event': {
      const attributes = Object.entries(entry.attributes).map(([key, value]) => say`${key}: ${value}`)
      const voided = entry.voided === null ? [] : ['Voided: it no longer counts.']
      return {
        title: say`${nameIn(metrics, entry.metricKey, 'A deleted metric')}: ${signed(entry.value)}`,
        details: [...attributes, ...voided],
      }
    }
    case 'award': {
      const system = nameIn(points, entry.systemKey, 'points of a deleted system')
      return { title: say`${signed(entry.awarded)} ${system}`, details: [totalOf(entry.total)] }
    }
    case 'level_changed': {
      const system = nameIn(points, entry.systemKey, 'a deleted system')
      const title =
        entry.after === null ? say`No level in ${system}` : say`Level ${levelOf(entry.after)} in ${system}`
      return { title, details: entry.before === null ? [] : [say`Before: ${levelOf(entry.before)}`] }
    }
    case 'achievement':
      return {
        title: say`Completed ${nameOr(entry.achievementName, entry.achievementKey ?? 'a deleted achievement')}`,
        details: [],
      }
    case 'streak':
      return streakInWords(entry)
    case 'adjustment': {
      const system = nameIn(points, entry.systemKey, 'points of a deleted system')
      const how = entry.reverses === null ? 'by hand' : 'with a completion that was taken back'
      const reason = entry.reason === null ? [] : [say`Reason: ${entry.reason}`]
      return {
        title: say`${signed(entry.awarded)} ${system} ${how}`,
        details: [totalOf(entry.total), ...reason],
      }
    }
    case 'void': {
      const reversals = entry.reversals.map(
        ({ awarded, systemKey, total }) =>
          say`${signed(awarded)} ${nameIn(points, systemKey, 'points')}. ${totalOf(total)}`,
      )
      return {
        title: say`Voided an event: ${nameIn(metrics, entry.metricKey, 'a deleted metric')} ${signed(entry.value)}`,
        details: [...(entry.reason === null ? [] : [say`Reason: ${entry.reason}`]), ...reversals],
      }
    }
    case 'notification': {
      const channel = entry.channel === 'email' ? 'Email' : 'Push message'
      const what = entry.notification.replaceAll('_', ' ')
      return { title: say`${channel}: ${entry.title ?? what}`, details: [what, entry.status] }
    }
    case 'change': {
      const details = Object.entries(entry.fields).map(
        ([name, { before, after }]) => say`${name}: ${shown(before)} → ${shown(after)}`,
      )
      return { title: 'The profile was changed', details }
    }
  }
}

const levelOf = ({ name, key }: { name: string; key: string }) => nameOr(name, key)

const totalOf = (total: number) => `Total ${formatNumber(total)}`

const nameIn = (lookup: Names['points'], key: string | null, deleted: string) =>
  key === null ? deleted : lookup.nameOf(key)

/** A value of a changed field. */
const shown = (value: unknown): string =>
  value === null || value === undefined || value === ''
    ? 'none'
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

function streakInWords(entry: Extract<TimelineEntry, { type: 'streak' }>): EntryWords {
  const { change, length = 0, earned = 0, freezes, pause, started, lastPeriod } = entry
  const left = freezes === undefined ? [] : [`${counted(freezes, 'freeze')} now`]
  const daysOf = (start: string, end = start) => [`${formatDate(start)} to ${formatDate(end)}`]
  const paused = pause && daysOf(pause.start, pause.end)
  const words: Readonly<
    Record<typeof change, readonly [title: string, details?: readonly string[] | undefined]>
  > = {
    started: ['The streak began'],
    extended: [`The streak reached ${formatNumber(length)}`],
    freeze_earned: [`Got ${counted(earned, 'freeze')}`, left],
    freeze_consumed: ['A freeze saved the streak', left],
    paused: ['The streak was paused', paused],
    pause_deleted: ['A pause was removed', paused],
    restored: [`The streak was restored to ${formatNumber(length)}`],
    reset: ['The streak was reset'],
    lost: [`The streak of ${formatNumber(length)} was lost`, started ? daysOf(started, lastPeriod) : []],
  }
  const [title, details = []] = words[change]
  return { title, details }
}
