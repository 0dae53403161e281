import * as z from 'zod'
import { UpsertedUser } from '../api/shapes/users'
import type { Configuration } from '../configuration/model'
import type { CreateApplicationKeysRequest } from '../features/account/keys'
import { UpdateSettingsRequest } from '../features/account/settings.routes'
import { achievement } from '../features/achievements/achievement.resource'
import { BatchEventsRequest } from '../features/events/batches/batches.routes'
import { template } from '../features/notifications/template.resource'
import { system } from '../features/points/system.resource'
import { CreateStreakPausesRequest } from '../features/streaks/admin'
import { UpdateStreakSettingsRequest } from '../features/streaks/admin.routes'
import { leaderboard } from '../leaderboards/leaderboard.resource'
import { addDays, type CivilDate, periodStartDate } from '../lib/zone'
import { webhook } from './jobs'

/**
 * The demo: a learning app. It has at least one item of everything that has an id, so that each example in
 * the OpenAPI documents can name one. It also has an unused item of each kind for the examples of DELETE. Items
 * that refer to nothing else, such as metrics, are in the declarations of their resources (`demo`). All are
 * parsed when the demo is loaded, so other starts of the Worker don't pay for that.
 */

/** The port of the discard service. No server listens there, so requests to it do no harm. */
const NOWHERE = 'http://127.0.0.1:9'

/** A lesson or ten minutes make a day. A new user has one freeze, and earns another one each week. */
export const streaks = () =>
  UpdateStreakSettingsRequest.parse({
    metrics: [
      { key: 'demo-lessons', threshold: 1 },
      { key: 'demo-minutes', threshold: 10 },
    ],
    customizationEnabled: true,
    freezes: { startCount: 1, maxCount: 2, autoEarnInterval: 7, autoEarnAmount: 1 },
  })

/** The brand of the app. */
export const settings = () =>
  UpdateSettingsRequest.parse({
    branding: { appName: 'Daily lessons', appUrl: 'https://example.com', brandColor: '#15803D' },
  })

type IdOf = (key: string) => string

/** The ids of attributes, metrics, achievements and systems of the demo. Throws for an unknown key. */
export function idsOf({ attributes, metrics, achievements, systems }: Configuration): IdOf {
  const ids = new Map(
    [...attributes, ...metrics, ...achievements, ...systems].map(({ key, id }) => [key, id]),
  )
  return (key) => {
    const id = ids.get(key)
    if (id === undefined) throw new Error(`the demo has no ${key}`)
    return id
  }
}

/** An achievement by a metric, one by the streak, one that the product completes, and an unused one. */
export const achievementsFor = (idOf: IdOf) =>
  achievement.Create.parse([
    {
      key: 'demo-first-lesson',
      name: 'First lesson',
      trigger: 'metric',
      metricId: idOf('demo-lessons'),
      metricValue: 1,
      status: 'active',
    },
    { key: 'demo-on-fire', name: 'On fire: a week', trigger: 'streak', streakLength: 7, status: 'active' },
    { key: 'demo-profile', name: 'Profile complete', trigger: 'api', status: 'active' },
    {
      key: 'demo-year',
      name: 'A year with us',
      trigger: 'anniversary',
      anniversaryYears: 1,
      status: 'active',
    },
    {
      key: 'demo-ten-hours',
      name: 'Ten hours (unused)',
      trigger: 'metric',
      metricId: idOf('demo-minutes'),
      metricValue: 600,
    },
  ])

const byPlan = (idOf: IdOf) => [{ attributeId: idOf('demo-plan'), attributeValue: 'pro' }]

/** XP with levels; energy, which time gives and lessons take; gems for joining; coins are unused. */
export const systemsFor = (idOf: IdOf, today: CivilDate) =>
  system.Create.parse([
    {
      key: 'demo-xp',
      name: 'XP',
      description:
        'Experience: 10 points for a lesson, 5 for every 10 minutes, 50 for each week of a streak.',
      levels: [
        { key: 'demo-novice', name: 'Novice', points: 0 },
        { key: 'demo-apprentice', name: 'Apprentice', points: 50 },
        { key: 'demo-scholar', name: 'Scholar', points: 200 },
        { key: 'demo-master', name: 'Master', points: 1_000 },
        { key: 'demo-legend', name: 'Legend (unused)', points: 1_000_000 },
      ],
      triggers: [
        { type: 'metric', metricId: idOf('demo-lessons'), metricThreshold: 1, points: 10, status: 'active' },
        { type: 'metric', metricId: idOf('demo-minutes'), metricThreshold: 10, points: 5, status: 'active' },
        { type: 'streak', streakLength: 7, points: 50, status: 'active' },
        { type: 'streak', streakLength: 30, points: 300, status: 'inactive' },
      ],
      boosts: [
        { name: 'Pro members', start: today, multiplier: 1.5, userAttributes: byPlan(idOf) },
        { name: 'Double XP', start: addDays(today, 7), end: addDays(today, 8), multiplier: 2 },
      ],
    },
    {
      key: 'demo-energy',
      name: 'Energy',
      description: 'One point an hour, up to 30; a lesson takes five.',
      maxPoints: 30,
      triggers: [
        { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' },
        { type: 'metric', metricId: idOf('demo-lessons'), metricThreshold: 1, points: -5, status: 'active' },
      ],
    },
    {
      key: 'demo-gems',
      name: 'Gems',
      description: 'Five to begin with, and ten for a complete profile.',
      triggers: [
        { type: 'user_creation', points: 5, status: 'active' },
        { type: 'achievement', achievementId: idOf('demo-profile'), points: 10, status: 'active' },
      ],
    },
    { key: 'demo-coins', name: 'Coins (unused)' },
  ])

/** An active webhook to try, which gets only the end of a week by itself, and an inactive one. */
export const webhooks = () =>
  webhook.Create.parse([
    { url: `${NOWHERE}/demo`, events: ['leaderboard.finished'] },
    { url: `${NOWHERE}/unused`, events: ['*'], status: 'inactive' },
  ])

/** Inactive templates. If they are active, the log shows the messages that would be sent. */
export const templates = () =>
  template.Create.parse([
    {
      type: 'streak_reminder',
      channel: 'email',
      subject: 'Keep your streak, {{ user.name | default: "learner" }}',
      body: `<div style="font-family:{{ branding.fontFamily }}">
<p><b>{{ branding.appName }}</b></p>
<p>A lesson today makes it {{ streak.length | plus: 1 }} days.</p>
<p><a href="{{ branding.appUrl }}" style="color:{{ branding.brandColor }}">Open the next lesson</a></p>
</div>`,
    },
    {
      type: 'achievement_completed',
      channel: 'push',
      title: 'Well done',
      body: '{{ achievement.name }}',
    },
  ])

/**
 * This week's XP, which begins again each Monday. All lessons ever, from yesterday: at any hour, every time
 * zone has reached that date. The minutes of each month, among users of the same plan. The lessons of pro
 * members. An unused one.
 */
export const leaderboardsFor = (idOf: IdOf, today: CivilDate) =>
  leaderboard.Create.parse([
    {
      key: 'demo-weekly-xp',
      name: 'XP this week',
      rankBy: 'points',
      pointsSystemId: idOf('demo-xp'),
      start: periodStartDate(today, 'weekly'),
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
    },
    {
      key: 'demo-all-time',
      name: 'Lessons of all time',
      rankBy: 'metric',
      metricId: idOf('demo-lessons'),
      start: addDays(today, -1),
      status: 'active',
    },
    {
      key: 'demo-minutes-by-plan',
      name: 'Minutes this month, by plan',
      rankBy: 'metric',
      metricId: idOf('demo-minutes'),
      start: periodStartDate(today, 'monthly'),
      runUnit: 'month',
      runInterval: 1,
      breakdownAttributes: [idOf('demo-plan')],
      status: 'active',
    },
    {
      key: 'demo-pro-league',
      name: 'Pro league',
      rankBy: 'metric',
      metricId: idOf('demo-lessons'),
      start: addDays(today, -1),
      userAttributes: byPlan(idOf),
      status: 'active',
    },
    { key: 'demo-sprint', name: 'Sprint (unused)', rankBy: 'metric', metricId: idOf('demo-lessons') },
  ])

/** Three learners. The third one is for the example that erases a user. */
export const users = () =>
  z.array(UpsertedUser).parse([
    {
      id: 'demo-ada',
      name: 'Ada',
      email: 'ada@example.com',
      tz: 'Europe/Paris',
      attributes: { 'demo-plan': 'pro' },
      signUpDate: '2024-02-29',
    },
    {
      id: 'demo-grace',
      name: 'Grace',
      tz: 'America/New_York',
      attributes: { 'demo-plan': 'free' },
      signUpDate: '2022-12-09',
    },
    { id: 'demo-alan', name: 'Alan', tz: 'Europe/London' },
  ])

const event = (key: string, id: string, value: number, device: string) => ({
  key,
  user: { id },
  value,
  attributes: { 'demo-device': device },
  idempotencyKey: 'demo',
})

/** The events of the users so far: one batch. */
export const events = () =>
  BatchEventsRequest.parse([
    event('demo-lessons', 'demo-ada', 3, 'phone'),
    event('demo-minutes', 'demo-ada', 45, 'phone'),
    event('demo-lessons', 'demo-grace', 2, 'laptop'),
    event('demo-minutes', 'demo-grace', 20, 'laptop'),
    event('demo-lessons', 'demo-alan', 1, 'phone'),
  ])

/** A future pause. */
export const pausesFor = (today: CivilDate) =>
  CreateStreakPausesRequest.parse({
    pauses: [{ userId: 'demo-grace', start: addDays(today, 20), end: addDays(today, 22) }],
  })

/** Keys with secrets that nobody knows. They are for lists, rotation and deletion. */
export const APPLICATION_KEYS: z.output<typeof CreateApplicationKeysRequest> = [
  { userId: 'demo-ada', scope: 'write', expires: null },
  { userId: 'demo-grace', scope: 'read', expires: null },
]
export const ADMIN_KEYS = [{ name: 'Demo' }, { name: 'Demo (unused)' }]
