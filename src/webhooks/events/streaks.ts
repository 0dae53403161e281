import * as z from 'zod'
import { BaseStreakResponse } from '../../api/shapes/streaks'
import { sampleStreak, userEvent } from './event'

const grown = (length: number) =>
  userEvent({ streak: BaseStreakResponse }, (when) => ({ streak: sampleStreak(when, length) }))

export const STREAK_EVENTS = {
  /** A streak began: its length went from 0 to 1 (W6). */
  'streak.started': grown(1),
  /** A streak grew by one period (W6). */
  'streak.extended': grown(2),
  /** A streak ended (W6). `length` is the length that was lost. */
  'streak.lost': userEvent({ length: z.int32() }, () => ({ length: 2 })),
  /** A user got freezes (W6). `freezes` are all that the user has now. */
  'streak.freeze_earned': userEvent({ earned: z.int32(), freezes: z.int32() }, () => ({
    earned: 1,
    freezes: 1,
  })),
  /** A freeze kept a streak: one event for each period (W6). `freezes` are those left. */
  'streak.freeze_consumed': userEvent({ consumed: z.int32(), freezes: z.int32() }, () => ({
    consumed: 1,
    freezes: 0,
  })),
}
