/** Plays weeks of a learning app with the demo, by the test clock, so that pictures show a product in use. */

const DAY = 86_400_000
/** The time at which learners learn, in milliseconds after midnight in UTC. */
const EVENING = 17.5 * 3_600_000

/** How long a move of the test clock may take, in milliseconds. */
const PATIENCE = 5 * 60_000

const NAMES =
  'Ada Grace Alan Edsger Barbara Donald Margaret Katherine Dennis Radia Frances Hedy Emmy Sophie Marie Rosalind Lise Niels Max Erwin Paul Richard Chien Vera Jocelyn Carl Leonhard Blaise Pierre Isaac Gottfried Johannes Tycho Galileo Maria Hypatia Sonja Srinivasa Julia Mary Dorothy Rita Gerty Irène Otto Enrico Abdus Satyendra Chandra Rachel Jane Dian Sylvia Mae Sally Valentina Yuri Neil Buzz Michael'.split(
    ' ',
  )
const ZONES = ['Europe/Paris', 'Europe/Berlin', 'America/New_York', 'America/Los_Angeles', 'Asia/Tokyo']
const PLANS = ['free', 'free', 'free', 'pro', 'team']

/** Numbers from 0 to 1, the same ones each time (Mulberry32). */
function chances(/** @type {number} */ seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Moves the clock day by day. New users arrive each day; some stay, most become rarer. Takes some minutes.
 *
 * @param {import('../../bench/lib/server.mjs').Server} server it has the demo, and a test clock
 */
export async function playBusyWeeks(server, days = 35) {
  /** @type {(method: string, path: string, body?: object) => Promise<any>} */
  const send = async (method, path, body) =>
    (await server.ask(method, path, { body, patience: PATIENCE })).body
  const chance = chances(7)
  const pick = (/** @type {readonly string[]} */ list) => list[Math.floor(chance() * list.length)] ?? ''
  /** @type {{ id: string; name: string; tz: string; attributes: object; day: number; zeal: number }[]} */
  const users = ['demo-ada', 'demo-grace', 'demo-alan'].map((id, index) => ({
    id,
    name: NAMES[index] ?? id,
    tz: 'Europe/Paris',
    attributes: { 'demo-plan': 'pro' },
    day: 0,
    zeal: index === 0 ? 1 : 0.8,
  }))
  await send('PATCH', '/admin/v1/settings', { experimentation: { controlRatio: 20 } })
  const { now } = await send('GET', '/admin/v1/test-clock')
  let time = Math.ceil(Date.parse(now) / DAY) * DAY + EVENING
  for (let day = 0; day < days; day++) {
    time += DAY
    await send('PUT', '/admin/v1/test-clock', { now: new Date(time).toISOString() })
    const isWeekend = [0, 6].includes(new Date(time).getUTCDay())
    const arrivals = day === 0 ? 12 : 2 + Math.floor(chance() * 4) + Math.floor(day / 10)
    for (let n = 0; n < arrivals; n++) {
      const round = Math.floor(users.length / NAMES.length)
      const first = NAMES[users.length % NAMES.length] ?? ''
      const tz = pick(ZONES)
      const attributes = { 'demo-plan': pick(PLANS) }
      const id = `learner-${String(users.length + 1).padStart(3, '0')}`
      const name = round === 0 ? first : `${first} ${round + 1}`
      users.push({ id, name, tz, attributes, day, zeal: chance() })
    }
    const active = users.filter(({ day: first, zeal }) => {
      const age = day - first
      const likely = zeal > 0.6 ? 0.55 + zeal * 0.43 : zeal * 0.4 + 0.6 * Math.exp(-age / 5)
      return age === 0 || chance() < likely * (isWeekend ? 0.8 : 1)
    })
    const events = active.flatMap(({ id, name, tz, attributes, zeal }) => {
      const user = { id, name, tz, attributes }
      const minutes = 5 + Math.floor(chance() * 40 * zeal)
      return [
        { metric: 'demo-lessons', body: { user, value: 1 + Math.floor(chance() * 4 * zeal) } },
        ...(chance() < 0.6 ? [{ metric: 'demo-minutes', body: { user, value: minutes } }] : []),
      ]
    })
    while (events.length > 0)
      await Promise.all(
        events.splice(0, 8).map(({ metric, body }) => send('POST', `/v1/metrics/${metric}/event`, body)),
      )
  }
  // The figures are counted again, and the last day has them too.
  await send('PUT', '/admin/v1/test-clock', { advance: 'PT1H' })
}
