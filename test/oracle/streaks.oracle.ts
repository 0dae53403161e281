import { type Frequency, localAt, offsetIn, periodOf, plusDays, plusPeriods } from './calendar.oracle'

/**
 * An oracle for streaks, by the rules S1–S13, U6, U7, P2 and E8 alone. Imports nothing from the service. It
 * replays the whole history, local day by local day.
 */

export type OracleThresholds = readonly { metric: string; threshold: number }[]
export type OracleFreezes = { startCount: number; maxCount: number; interval: number | null; amount: number }
/** A tenant's settings (S1). Thresholds and values are whole millionths. */
export type OracleSettings = {
  enabled: boolean
  frequency: Frequency
  metrics: OracleThresholds
  mode: 'AND' | 'OR'
  customizationEnabled: boolean
  freezes: OracleFreezes | null
  /** Days of the week, from 0 (Sunday) to 6 (S12). */
  daysOff: readonly number[]
}

/** The settings of a new tenant. */
export const DAILY: OracleSettings = {
  ...{ enabled: true, frequency: 'daily', metrics: [], mode: 'OR', customizationEnabled: false },
  ...{ freezes: null, daysOff: [] },
}

/** An input of a user. */
export type ChangeInput = { at: number } & (
  | { do: 'create'; zone: string | null }
  | { do: 'event'; metric: string; value: number; zone?: string | null }
  | { do: 'zone'; zone: string | null }
  | { do: 'pause'; id: string; start: string; end: string }
  | { do: 'unpause'; id: string }
  | { do: 'freeze' | 'restore' | 'reset' }
  | {
      do: 'preferences'
      enabled?: boolean
      mode?: 'AND' | 'OR'
      metrics?: OracleThresholds
      daysOff?: readonly number[] | null
    }
  | { do: 'settings'; settings: OracleSettings }
  /** The user's n-th event, from 0, is voided (V2). Voiding it again changes nothing. */
  | { do: 'void'; nth: number }
  /** A metric is deleted (G9). */
  | { do: 'unmetric'; metric: string }
)

/** A streak at a moment. Null if no streak is shown. */
export type OracleStreak = {
  length: number
  started: string | null
  periodStart: string | null
  periodEnd: string | null
  expires: string | null
  /** Stored freezes. Null while freezes are off. */
  freezes: number | null
  /**
   * The moment of the last extension. Null if the length is 0, or if the streak was restored from 0 and not
   * extended since.
   */
  extended: number | null
}

/** One period of a streak's history (S6). */
export type OraclePeriod = { start: string; resetAt: number | null } & PeriodKind

/** In the sums of a period: the number of positive events, which is the goal if no metrics are set (S1). */
const POSITIVE = ''

type Run = { length: number; started: string; extended: number | null }
type Pause = { start: string; end: string }
type PeriodKind = { length: number; usedFreeze: boolean; usedPause: boolean; dayOff: boolean }
const PLAIN = { usedFreeze: false, usedPause: false, dayOff: false }
type Logged =
  | { do: 'event'; at: number; date: string; nth: number; metric: string; value: number }
  | { do: 'move'; from: string; to: string }
  | { do: 'reset'; at: number; date: string }
  | { do: 'switch'; isOff: boolean; date: string }

/** True if freezes are earned in the same way. */
const isEarnedAlike = (one: OracleFreezes | null, other: OracleFreezes | null) =>
  one?.interval === other?.interval && one?.amount === other?.amount && one?.maxCount === other?.maxCount

/** A replayed history. */
export class StreakReplay {
  #settings: OracleSettings
  #now = Number.NEGATIVE_INFINITY
  #zone = 'UTC'
  /** The local date, and the latest date that has begun by the end of the one before it. */
  #date = ''
  #latest = ''
  /** The dates that changes of zone have skipped and that have not ended, oldest first (S11). */
  #skipped: string[] = []
  #created = ''
  #run: Run | null = null
  /** The last period that was satisfied or judged. */
  #closed: string | null = null
  #sums = new Map<string, Map<string, number>>()
  #freezes = 0
  /** The date on which what is earned last changed. */
  #earnsAfter = ''
  #pauses = new Map<string, Pause>()
  /** The parts of deleted pauses that counted. */
  #deleted: Pause[] = []
  #own: {
    enabled: boolean
    mode: 'AND' | 'OR' | null
    metrics: OracleThresholds
    daysOff: readonly number[] | null
  } = { enabled: true, mode: null, metrics: [], daysOff: null }
  /** The last date that has ended while the length was above 0. It was a day off by then, or never will be (S12). */
  #ended = ''
  /** The resets: the period, the length before, and the last period that was closed (S13). */
  #resets: { at: number; period: string; length: number; closed: string }[] = []
  #history = new Map<string, PeriodKind>()
  #log: Logged[] = []
  /** The last date that travel spared. */
  #spared: string | null = null
  /** The lengths to which events have extended the streak while it was shown, in order (P2). */
  #extensions: number[] = []
  /** The number of events so far, the events that are in the sums of their periods, and the voided ones. */
  #events = 0
  #counted = new Map<number, { period: string; metric: string; value: number }>()
  #voided = new Set<number>()
  #deletedMetrics = new Set<string>()
  /** True if the tenant's streaks are off. */
  #isOff = false
  /** True if the log is being recounted (S9). */
  #recounting = false

  constructor(settings: OracleSettings) {
    this.#settings = settings
    this.#isOff = !settings.enabled
  }

  /** The user's local date. */
  get date() {
    return this.#date
  }

  /** True if the user was created. */
  get exists() {
    return this.#created !== ''
  }

  /** The number of firings of a streak trigger with this length (P2). */
  firings(length: number): number {
    return this.#extensions.filter((one) => one % length === 0).length
  }

  /** How often the streak was extended while it was shown (P2). */
  get extensions(): number {
    return this.#extensions.length
  }

  /** A copy with the same state, for reading. */
  #copy(): StreakReplay {
    const copy = new StreakReplay(this.#settings)
    copy.#become(this)
    return copy
  }

  /** Takes over the state of another replay. */
  #become(other: StreakReplay): void {
    this.#settings = other.#settings
    this.#now = other.#now
    this.#zone = other.#zone
    this.#date = other.#date
    this.#latest = other.#latest
    this.#skipped = [...other.#skipped]
    this.#created = other.#created
    this.#run = other.#run
    this.#closed = other.#closed
    this.#sums = new Map([...other.#sums].map(([period, sums]) => [period, new Map(sums)]))
    this.#freezes = other.#freezes
    this.#earnsAfter = other.#earnsAfter
    this.#pauses = new Map(other.#pauses)
    this.#deleted = [...other.#deleted]
    this.#own = other.#own
    this.#history = new Map(other.#history)
    this.#log = [...other.#log]
    this.#spared = other.#spared
    this.#extensions = [...other.#extensions]
    this.#isOff = other.#isOff
    this.#counted = new Map(other.#counted)
    this.#voided = new Set(other.#voided)
    this.#deletedMetrics = new Set(other.#deletedMetrics)
    this.#ended = other.#ended
    this.#resets = [...other.#resets]
  }

  /**
   * Takes the next input. Returns whether it changed anything: a freeze at the maximum and a needless restore
   * do not.
   */
  take(happening: ChangeInput): boolean {
    const { at } = happening
    if (happening.do === 'create') {
      this.#zone = happening.zone ?? 'UTC'
      this.#date = this.#dateAt(at)
      this.#latest = this.#date
      this.#created = this.#date
      this.#now = at
      this.#freezes = this.#settings.freezes?.startCount ?? 0
      return true
    }
    this.#liveUntil(at)
    if (happening.do === 'zone') {
      const hasMoved = this.#moveTo(happening.zone ?? 'UTC')
      this.#satisfyMet()
      return hasMoved
    }
    if (happening.do === 'event' && happening.zone !== undefined) {
      this.#moveTo(happening.zone ?? 'UTC')
      this.#satisfyMet()
    }
    const changed = this.#act(happening)
    this.#satisfyMet()
    return changed
  }

  /**
   * Satisfies the periods whose sums meet the goal that is in force now, and that are not over (S2). Called
   * after each input, so the input need not be an event.
   */
  #satisfyMet(): void {
    const open = this.#run === null ? this.#date : (this.#skipped[0] ?? this.#date)
    const first = this.#period(open)
    for (const [period, sums] of [...this.#sums].sort()) {
      if (period < first || this.#isClosed(period) || !this.#isSatisfied(sums)) continue
      this.#satisfy(period, this.#now)
    }
  }

  #act(act: Exclude<ChangeInput, { do: 'create' | 'zone' }>): boolean {
    switch (act.do) {
      case 'event': {
        const event = { ...act, date: this.#date, nth: this.#events }
        this.#events += 1
        this.#log.push(event)
        this.#count(event)
        return true
      }
      case 'void':
        return this.#void(act.nth)
      case 'unmetric':
        this.#deletedMetrics.add(act.metric)
        return true
      case 'pause':
        this.#pauses.set(act.id, act)
        return true
      case 'unpause':
        return this.#unpause(act.id)
      case 'freeze': {
        const { freezes } = this.#settings
        if (freezes === null || this.#freezes >= freezes.maxCount) return false
        this.#freezes += 1
        return true
      }
      case 'restore':
        return this.#restore()
      case 'reset':
        if (this.#run === null || !this.isOn) return false
        this.#log.push({ do: 'reset', at: this.#now, date: this.#date })
        this.#reset(this.#now)
        return true
      case 'preferences': {
        const { enabled = this.#own.enabled, mode = this.#own.mode, metrics = this.#own.metrics } = act
        const { daysOff = this.#own.daysOff } = act
        this.#own = { enabled, mode, metrics, daysOff }
        return true
      }
      case 'settings': {
        const { frequency, freezes } = this.#settings
        this.#settings = act.settings
        if (!isEarnedAlike(freezes, act.settings.freezes)) this.#earnsAfter = this.#date
        if (this.#isOff === act.settings.enabled) {
          this.#isOff = !this.#isOff
          this.#log.push({ do: 'switch', isOff: this.#isOff, date: this.#date })
        }
        if (act.settings.frequency !== frequency && this.exists) this.#recount()
        return true
      }
    }
  }

  /** The streak at a moment that is not before the last input. */
  at(at: number): OracleStreak {
    return this.#at(at).#shown()
  }

  /** The last periods up to the current one, oldest first (S6). */
  history(at: number, count: number): OraclePeriod[] {
    return this.#at(at).#past(count)
  }

  /** The first date that has not ended at a moment (S11). */
  openAt(at: number): string {
    const then = this.#at(at)
    return then.#skipped[0] ?? then.date
  }

  #at(at: number): StreakReplay {
    const then = this.#copy()
    then.#liveUntil(at)
    return then
  }

  #dateAt(at: number, zone = this.#zone): string {
    return localAt(at, offsetIn(zone, at)).date
  }

  #period(date: string): string {
    return periodOf(date, this.#settings.frequency)
  }

  #after(period: string, count = 1): string {
    return plusPeriods(period, count, this.#settings.frequency)
  }

  #liveUntil(at: number): void {
    this.#now = at
    if (!this.exists) return
    this.#passTo(this.#dateAt(at))
  }

  /** Passes all midnights up to the beginning of a date. */
  #passTo(date: string): void {
    while (this.#date < date) this.#midnight()
  }

  /** The user's own midnight: the date ends, and before it the dates that were skipped (S11). */
  #midnight(): void {
    if (!this.#recounting) this.#satisfyMet()
    const yesterday = this.#date
    this.#date = plusDays(yesterday, 1)
    this.#endSkipped(this.#date)
    this.#end(yesterday, false)
  }

  /** Ends the skipped dates before a date. */
  #endSkipped(before: string): void {
    const ended = this.#skipped.filter((date) => date < before)
    this.#skipped = this.#skipped.filter((date) => date >= before)
    for (const date of ended) this.#end(date, true)
  }

  /** A date ends (S3, S7). */
  #end(date: string, isSkipped: boolean): void {
    const next = plusDays(date, 1)
    if (next > this.#latest && !this.#recounting) {
      this.#latest = next
      this.#earn(next)
    }
    const period = this.#period(date)
    if (this.#period(next) !== period) this.#judge(period, isSkipped)
  }

  #earn(date: string): void {
    const { freezes } = this.#settings
    if (freezes === null || freezes.interval === null) return
    if (date <= this.#earnsAfter) return
    const days = Math.round((Date.parse(date) - Date.parse(this.#created)) / 86_400_000)
    if (days <= 0 || days % freezes.interval !== 0) return
    this.#freezes += Math.min(Math.max(0, freezes.maxCount - this.#freezes), freezes.amount)
  }

  /** Closes a period that is over (S3). */
  #judge(period: string, isSkipped: boolean): void {
    if (this.#run === null) return
    const dayOff = !this.#isOff && this.#isDayOff(period)
    const isFirst = period > this.#ended
    if (isFirst) this.#ended = period
    if (this.#closed !== null && period <= this.#closed) {
      const mark = this.#history.get(period)
      if (mark !== undefined && isFirst && dayOff) this.#history.set(period, { ...mark, dayOff })
      return
    }
    if (this.#isOff) this.#close(period)
    else if (dayOff) this.#close(period, { usedPause: true, dayOff })
    else if (this.#isPaused(period)) this.#close(period, { usedPause: true })
    else if (isSkipped && this.#maySpare(period)) {
      this.#spared = period
      this.#close(period)
    } else if (this.#consume()) this.#close(period, { usedFreeze: true })
    else {
      this.#run = null
      this.#close(period)
    }
  }

  /** True if travel may spare a date that was skipped: one of any seven in a row (S4, S11). */
  #maySpare(period: string): boolean {
    if (this.#settings.frequency !== 'daily') return false
    return this.#spared === null || plusDays(this.#spared, 7) <= period
  }

  #close(period: string, used: Partial<PeriodKind> = {}): void {
    this.#closed = period
    const length = this.#run?.length ?? 0
    this.#history.set(period, { length, ...PLAIN, ...used })
  }

  #consume(): boolean {
    if (this.#settings.freezes === null || this.#freezes === 0) return false
    if (this.#recounting) return false
    this.#freezes -= 1
    return true
  }

  /** True if a pause covers a day of a period. */
  #isPaused(period: string): boolean {
    const end = this.#after(period)
    const pauses = [...this.#pauses.values(), ...this.#deleted]
    return pauses.some((pause) => pause.start < end && period <= pause.end)
  }

  /** True if a date is a day off by the lists that are in force now: the user's, or else the tenant's (S12). */
  #isDayOff(date: string): boolean {
    const { frequency, customizationEnabled, daysOff } = this.#settings
    const list = (customizationEnabled ? this.#own.daysOff : null) ?? daysOff
    return frequency === 'daily' && list.includes(new Date(date).getUTCDay())
  }

  /** The length is 0, and nothing that was done in the present period or later ones counts (S13). */
  #reset(at: number): void {
    const period = this.#period(this.#date)
    const before = this.#after(period, -1)
    const [length, closed] = this.#run === null ? [0, ''] : [this.#run.length, this.#closed ?? '']
    this.#resets.push({ at, period, length, closed })
    this.#run = null
    for (const list of [this.#sums, this.#history])
      for (const start of [...list.keys()]) if (start >= period) list.delete(start)
    for (const [nth, event] of this.#counted) if (event.period >= period) this.#counted.delete(nth)
    if (this.#closed !== null && this.#closed > before) this.#closed = before
    if (this.#ended > before) this.#ended = before
  }

  #unpause(id: string): boolean {
    const over = plusDays(this.#period(this.#date), -1)
    const pause = this.#pauses.get(id)
    if (pause === undefined) return false
    this.#pauses.delete(id)
    const end = [pause.end, over].sort()[0] ?? over
    if (end >= pause.start) this.#deleted.push({ start: pause.start, end })
    return true
  }

  /** A change of zone (S4, S11). */
  #moveTo(zone: string): boolean {
    if (zone === this.#zone) return false
    const from = this.#date
    const to = this.#dateAt(this.#now, zone)
    this.#zone = zone
    if (to === from) return true
    this.#log.push({ do: 'move', from, to })
    this.#jumpTo(to)
    return true
  }

  /** The user is on another date at once. Skipped dates to which the user may come back stay open (S11). */
  #jumpTo(to: string): void {
    for (let date = this.#date; date < to; date = plusDays(date, 1)) this.#skipped.push(date)
    this.#skipped = this.#skipped.filter((date) => date < to)
    this.#date = to
    this.#endSkipped(plusDays(to, -2))
  }

  /** True if the streak is shown and in webhook events. It is counted in any case (S10). */
  get isOn() {
    return this.#settings.enabled && this.#own.enabled
  }

  /** The length that is shown. 0 if the streak is not shown. */
  get #length(): number {
    return this.#run?.length ?? 0
  }

  /** An event (S2). It counts even while streaks are off (S10). */
  #count({ at, date, nth, metric, value }: Extract<Logged, { do: 'event' }>): void {
    if (value === 0) return
    const period = this.#period(date)
    if (this.#isClosed(period)) return
    const sums = this.#sums.get(period) ?? new Map<string, number>()
    sums.set(metric, (sums.get(metric) ?? 0) + value)
    if (value > 0) sums.set(POSITIVE, (sums.get(POSITIVE) ?? 0) + 1)
    this.#sums.set(period, sums)
    this.#counted.set(nth, { period, metric, value })
    if (value > 0 && this.#isSatisfied(sums)) this.#satisfy(period, at)
  }

  /** A period is satisfied. The open dates before it end, and the streak is extended by one. */
  #satisfy(period: string, at: number): void {
    // Events that have satisfied a period do not count for it again.
    this.#sums.delete(period)
    this.#endBefore(period)
    this.#extend(period, at)
    if (this.isOn && !this.#recounting) this.#extensions.push(this.#length)
  }

  /** Ends the dates before a period. It may be later than the date on which the user is now. */
  #endBefore(period: string): void {
    this.#endSkipped(period)
    for (let date = this.#date; date < period; date = plusDays(date, 1)) this.#end(date, true)
  }

  /** A voided event counts no more (V2). A period that it has satisfied stays so. */
  #void(nth: number): boolean {
    if (this.#voided.has(nth)) return false
    this.#voided.add(nth)
    const counted = this.#counted.get(nth)
    const sums = counted && this.#sums.get(counted.period)
    if (counted === undefined || sums === undefined) return true
    sums.set(counted.metric, (sums.get(counted.metric) ?? 0) - counted.value)
    if (counted.value > 0) sums.set(POSITIVE, (sums.get(POSITIVE) ?? 0) - 1)
    return true
  }

  #extend(period: string, at: number): void {
    this.#run =
      this.#run === null
        ? { length: 1, started: period, extended: at }
        : { ...this.#run, length: this.#run.length + 1, extended: Math.max(at, this.#run.extended ?? at) }
    this.#close(period)
  }

  #isClosed(period: string): boolean {
    return this.#closed !== null && period <= this.#closed
  }

  #isSatisfied(sums: ReadonlyMap<string, number>): boolean {
    const { customizationEnabled, mode } = this.#settings
    const isLeft = ({ metric }: { metric: string }) => !this.#deletedMetrics.has(metric)
    const metrics = this.#settings.metrics.filter(isLeft)
    const own = customizationEnabled
      ? this.#own.metrics.filter(
          (one) =>
            isLeft(one) && (metrics.length === 0 || metrics.some(({ metric }) => metric === one.metric)),
        )
      : []
    const thresholds = own.length > 0 ? own : metrics
    if (thresholds.length === 0) return (sums.get(POSITIVE) ?? 0) > 0
    const meets = thresholds.map(({ metric, threshold }) => (sums.get(metric) ?? 0) >= threshold)
    const by = (customizationEnabled && this.#own.mode) || mode
    return by === 'AND' ? !meets.includes(false) : meets.includes(true)
  }

  /** S8. Returns false if the restore would change nothing. */
  #restore(): boolean {
    const { frequency } = this.#settings
    const current = this.#period(this.#date)
    const year = Number(this.#date.slice(0, 4))
    const since = {
      daily: plusDays(this.#date, -89),
      weekly: this.#period(`${year}-01-01`),
      monthly: `${year - 1}-01-01`,
    }[frequency]
    const known = [...this.#history].map(([period, { length }]) => ({ period, length }))
    const lengths = [...known, ...this.#resets].flatMap((one) => (one.period >= since ? [one.length] : []))
    const longest = Math.max(0, ...lengths)
    const gained = longest - this.#length
    if (gained <= 0) return false
    const previous = this.#after(current, -1)
    // What the restore counts as satisfied was no day off. The present period has not ended.
    if (this.#run === null || this.#ended < previous) this.#ended = previous
    if (this.#run !== null) {
      const started = this.#after(this.#run.started, -gained)
      for (const date of this.#skipped) {
        const period = this.#period(date)
        if (period < current && !this.#isClosed(period)) this.#close(period)
      }
      this.#run = { ...this.#run, length: this.#run.length + gained, started }
      // The length changes in all periods that are not over. Later ones of them may already be satisfied.
      for (const [start, mark] of this.#history) {
        if (start >= current) this.#history.set(start, { ...mark, length: mark.length + gained })
      }
      return true
    }
    // The current period and later ones are open, even if they had ended before.
    for (const start of [...this.#history.keys()]) if (start >= current) this.#history.delete(start)
    const lost = this.#resets.flatMap(({ period, closed }) => (period === current ? [closed] : []))
    const satisfied = [previous, ...lost].sort().at(-1) ?? previous
    this.#run = { length: gained, started: this.#after(satisfied, 1 - gained), extended: null }
    this.#close(satisfied)
    return true
  }

  /** Replays the whole log with the current settings (S9). */
  #recount(): void {
    const today = this.#date
    this.#recounting = true
    this.#run = null
    this.#closed = null
    this.#sums = new Map()
    this.#counted = new Map()
    this.#history = new Map()
    this.#spared = null
    this.#ended = ''
    this.#resets = []
    this.#skipped = []
    this.#date = this.#created
    this.#isOff = false
    for (const one of this.#log) {
      if (one.do === 'switch') {
        this.#passTo(one.date)
        this.#isOff = one.isOff
        continue
      }
      if (one.do === 'move') {
        this.#passTo(one.from)
        this.#jumpTo(one.to)
        continue
      }
      if (one.do === 'reset') {
        this.#passTo(one.date)
        this.#reset(one.at)
        continue
      }
      if (this.#voided.has(one.nth)) continue
      this.#passTo(one.date)
      this.#count(one)
    }
    this.#passTo(today)
    this.#recounting = false
    this.#isOff = !this.#settings.enabled
  }

  #shown(): OracleStreak {
    const freezes = this.#settings.freezes === null ? null : this.#freezes
    const length = this.isOn ? this.#length : 0
    if (length === 0) {
      const none = { started: null, periodStart: null, periodEnd: null, expires: null, extended: null }
      return { length: 0, ...none, freezes }
    }
    const { started, extended } = this.#run ?? { started: null, extended: null }
    const start = this.#period(this.#date)
    let endangered = start
    while (this.#isClosed(endangered)) endangered = this.#after(endangered)
    while (this.#isPaused(endangered) || this.#isDayOff(endangered)) endangered = this.#after(endangered)
    const lastOf = (period: string) => plusDays(this.#after(period), -1)
    return {
      ...{ length, started, extended, freezes },
      periodStart: start,
      periodEnd: lastOf(start),
      expires: lastOf(endangered),
    }
  }

  #past(count: number): OraclePeriod[] {
    const current = this.#period(this.#date)
    return Array.from({ length: count }, (_, index) => {
      const start = this.#after(current, index + 1 - count)
      const isOpen =
        this.#run !== null &&
        !this.#isClosed(start) &&
        this.#skipped.some((date) => this.#period(date) === start)
      const unmarked = { length: isOpen && this.isOn ? this.#length : 0, ...PLAIN }
      const mark = this.#history.get(start) ?? unmarked
      const resetAt = this.#resets.findLast(({ period }) => period === start)?.at ?? null
      if (start !== current) return { start, ...mark, resetAt }
      return { start, ...mark, length: this.isOn ? this.#length : 0, resetAt }
    })
  }
}

/** The replay of a whole history. */
export function lived(settings: OracleSettings, happenings: readonly ChangeInput[]): StreakReplay {
  const replay = new StreakReplay(settings)
  for (const happening of happenings) replay.take(happening)
  return replay
}
