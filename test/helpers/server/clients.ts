/** Clients that send all kinds of changes to a server, and record each outcome. */
import type { Dice } from '../../fuzz/dice'
import type { Entry, Ledger, ProfileChange } from './ledger'

const ZONES = ['UTC', 'Asia/Kathmandu', 'America/New_York', 'Pacific/Honolulu', 'Europe/Paris']

/** Sends a request, and parses the response as JSON. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<{ status: number; headers: Headers; body: ReturnType<ObjectConstructor> }>

export class Clients {
  readonly ledger: Ledger = { entries: [], profileChanges: [] }
  /** The ids of accepted batches, by the clients' number. */
  readonly accepted = new Map<number, string>()
  batches = 0
  /** The day number, counted from the first day. */
  today = 0
  /** Responses that no client may get. */
  readonly strange: unknown[] = []
  /** The number of responses that say that the event is a replay. */
  replays = 0
  readonly #send: Send
  readonly #dice: Dice

  constructor(send: Send, dice: Dice) {
    this.#send = send
    this.#dice = dice
  }

  /** A new event, in the batch with a number or alone. */
  newEntry(user: string, batch: number | null): Entry {
    const metric = this.#dice.roll() < 0.6 ? 'lessons' : 'minutes'
    // Lessons only increase, so their points do not depend on the order of parallel events. Minutes also
    // decrease.
    const tenths = metric === 'lessons' ? this.#dice.below(40) : this.#dice.below(90) - 45
    const ref = `r${this.ledger.entries.length}`
    const key = this.#dice.roll() < 0.65 ? `key ${ref}` : null
    const fate = { day: this.today, counted: false, isTaken: false }
    const entry: Entry = { ref, user, metric, tenths, key, batch, ...fate }
    this.ledger.entries.push(entry)
    return entry
  }

  /** A user as an event names it. Each user has an own zone. */
  userOf(id: string): { id: string; tz: string | undefined } {
    return { id, tz: ZONES[Number(id.slice(-2)) % ZONES.length] }
  }

  /** Sends an event alone. An event with a key counts once, even if this is called several times. */
  async sendEvent(entry: Entry): Promise<void> {
    const { status, body } = await this.#send(
      'POST',
      `/v1/metrics/${entry.metric}/event`,
      { user: this.userOf(entry.user), value: entry.tenths / 10, attributes: { ref: entry.ref } },
      entry.key === null ? {} : { 'idempotency-key': entry.key },
    )
    if (status !== 201 && !(status === 202 && entry.key !== null))
      return void this.strange.push({ status, body })
    if (status === 202) this.replays += 1
    if (entry.eventId !== undefined && entry.eventId !== body.eventId) this.strange.push({ entry, body })
    // An event gets 201 at most once, and never if it was in the log before.
    if (status === 201 && entry.isTaken) this.strange.push({ entry, body })
    if (status === 201) entry.isTaken = true
    entry.eventId = body.eventId
    entry.counted = true
  }

  /** Sends events as one batch. The batch must be accepted as a whole. */
  async sendBatch(entries: readonly Entry[]): Promise<void> {
    const events = entries.map(({ ref, user, metric, tenths, key }) => ({
      key: metric,
      user: this.userOf(user),
      value: tenths / 10,
      attributes: { ref },
      ...(key !== null && { idempotencyKey: key }),
    }))
    const { status, body, headers } = await this.#send('POST', '/admin/v1/metrics/events', events)
    if (status !== 202 || body.accepted !== events.length) return void this.strange.push({ status, body })
    this.accepted.set(entries[0]?.batch ?? -1, headers.get('x-batch-id') ?? '')
    for (const entry of entries) entry.counted = true
  }

  /** Sends a change that can be repeated safely. */
  async sendProfileChange(change: ProfileChange): Promise<void> {
    const { user, what } = change
    const { status, body } =
      what === 'identify'
        ? await this.#send('PUT', `/v1/users/${user}`, { tz: this.userOf(user).tz })
        : await this.#send('POST', '/v1/achievements/profile/complete', { user: this.userOf(user) })
    if (status !== (what === 'identify' ? 200 : 201)) this.strange.push({ status, body })
    change.answered = true
  }

  /** Sends one random change of one of these users. Returns its kind. */
  async act(
    users: readonly string[],
    { batches }: { batches: boolean },
  ): Promise<'event' | 'batch' | 'profile change'> {
    const kind = this.#dice.roll()
    if (batches && kind < 0.08) {
      this.batches += 1
      const batch = this.batches
      await this.sendBatch(
        Array.from({ length: 2 + this.#dice.below(30) }, () => this.newEntry(this.#dice.pick(users), batch)),
      )
      return 'batch'
    }
    if (kind < 0.16) {
      const what = kind < 0.12 ? 'identify' : 'profile'
      const change: ProfileChange = { user: this.#dice.pick(users), what, day: this.today, answered: false }
      this.ledger.profileChanges.push(change)
      await this.sendProfileChange(change)
      return 'profile change'
    }
    const entry = this.newEntry(this.#dice.pick(users), null)
    // A tenth of the events with a key are sent twice at once.
    const times = entry.key !== null && this.#dice.roll() < 0.1 ? 2 : 1
    const sent = await Promise.allSettled(Array.from({ length: times }, () => this.sendEvent(entry)))
    for (const one of sent) if (one.status === 'rejected') throw one.reason
    return 'event'
  }
}
