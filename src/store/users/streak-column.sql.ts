import * as z from 'zod'
import { STREAK_FREQUENCIES } from '../../configuration/enumerations'
import { instant } from '../../lib/clock'
import { NO_STREAK, type StreakState } from '../../rules/streaks/streak-state.rules'

const Run = z.object({
  started: z.number(),
  first: z.number(),
  last: z.number(),
  history: z.string(),
  length: z.number(),
  extended: z.number().transform(instant).nullable(),
  restored: z.number().transform(instant).optional(),
})
const day = z.number().nullable().default(null)
const Earned = z.tuple([z.number(), z.number()]).nullable().default(null)
const Stored = z.object({
  frequency: z.enum([...STREAK_FREQUENCIES, 'unknown']).nullable(),
  epoch: z.number().default(0),
  run: Run.nullable().default(null),
  freezes: z.number().default(0),
  born: day,
  earned: Earned,
  missed: day,
  spared: day,
  sums: z.array(z.tuple([z.number(), z.array(z.tuple([z.string(), z.number()]))])).default([]),
  pauses: z.array(z.object({ id: z.string(), start: z.number(), end: z.number() })).default([]),
  jumps: z.array(z.tuple([z.number(), z.number(), z.number()])).default([]),
  altered: z.number().transform(instant).nullable().default(null),
})

/** The streak from the columns `streak` and `streak_due` of a user's row. */
export function parseStreak(text: string | null, due: number | null): StreakState {
  if (text === null) return NO_STREAK
  return { ...Stored.parse(JSON.parse(text)), due: due === null ? null : instant(due) }
}

/** The value of the column `streak`, without empty fields. Null if there is no data at all. */
export function streakJson({ due: _due, ...streak }: StreakState): string | null {
  const kept = Object.entries(streak).filter(
    ([name, value]) =>
      name === 'frequency' ||
      !(value === null || value === 0 || (Array.isArray(value) && value.length === 0)),
  )
  return kept.length === 1 && streak.frequency === null ? null : JSON.stringify(Object.fromEntries(kept))
}
