import type { Format } from './format.ts'

const MILLISECONDS = { hour: 3_600_000, day: 86_400_000 }

/** A time trigger of a points system (P4). */
export interface TimeTrigger {
  id?: string | undefined
  type: string
  points: number
  timeUnit?: 'hour' | 'day' | undefined
  timeInterval?: number | undefined
}

/** An award with its trigger (P10). The date of a tick's award is the instant at which it was due. */
export interface TimedAward {
  date?: string | undefined
  trigger?: TimeTrigger | undefined
}

/**
 * The next gain by time: its instant and its points. Ticks are a fixed interval apart, so the newest tick
 * gives all later ones. Null if no trigger gives points with time, or no tick is among the awards.
 */
export function nextGain(
  triggers: readonly TimeTrigger[],
  awards: readonly TimedAward[],
  now: number,
): { at: string; points: number } | null {
  const gains = triggers.flatMap((trigger) => {
    const { id, type, points, timeUnit, timeInterval } = trigger
    if (type !== 'time' || points <= 0 || timeUnit === undefined || timeInterval === undefined) return []
    const tick = awards.find(
      (award) =>
        award.trigger?.type === 'time' &&
        award.trigger.id === id &&
        award.trigger.timeUnit === timeUnit &&
        award.trigger.timeInterval === timeInterval,
    )
    if (tick?.date === undefined) return []
    const interval = MILLISECONDS[timeUnit] * timeInterval
    const last = Date.parse(tick.date)
    const passed = Math.max(0, Math.floor((now - last) / interval))
    return [{ at: last + (passed + 1) * interval, points }]
  })
  const [first] = gains.sort((a, b) => a.at - b.at)
  return first === undefined ? null : { at: new Date(first.at).toISOString(), points: first.points }
}

/** A time span such as 1:05:09 or 4:30. */
export function timeSpan(seconds: number, { number }: Format): string {
  const two = (value: number) => (value < 10 ? number(0) : '') + number(value)
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor(seconds / 60) % 60
  const start = hours ? `${number(hours)}:${two(minutes)}` : number(minutes)
  return `${start}:${two(Math.floor(seconds) % 60)}`
}
