import { readFileSync } from 'node:fs'

/** The pages of the console, by their paths below `/console`, for axe, the screenshots and the headings. */

export type ConsolePage = {
  path: string
  /** The name of the page, which is its heading. */
  heading: string
  /** The file of its picture. */
  picture: string
}

/** Only its text is read: the module itself is for browsers. */
const navigation = readFileSync('console/src/app/navigation.ts', 'utf8')

/** The pages of the navigation. Their headings are the names of the links. */
export const MAIN_PAGES: readonly ConsolePage[] = [
  ...navigation.matchAll(/^ +name: '(.+)',\n +path: '(.+)',$/gm),
].map(([, heading = '', path = '']) => ({ path, heading, picture: path.slice(1) || 'overview' }))

/** Pages of single things of the demo, and forms. A form is a dialog: its page keeps its heading. */
export const OTHER_PAGES: readonly ConsolePage[] = [
  { path: '/users/new', heading: 'Users', picture: 'user-new' },
  { path: '/users/demo-ada', heading: 'Ada', picture: 'user' },
  { path: '/users/demo-ada/timeline', heading: 'Ada', picture: 'user-timeline' },
  { path: '/users/demo-ada/achievements', heading: 'Ada', picture: 'user-achievements' },
  { path: '/users/demo-ada/preferences', heading: 'Ada', picture: 'user-preferences' },
  { path: '/users/demo-ada/edit', heading: 'Ada', picture: 'user-edit' },
  { path: '/users/demo-ada?action=adjust-points', heading: 'Ada', picture: 'user-adjust-points' },
  { path: '/metrics/demo-lessons', heading: 'Lessons completed', picture: 'metric' },
  { path: '/metrics/new', heading: 'Metrics', picture: 'metric-new' },
  { path: '/points/demo-xp', heading: 'XP', picture: 'points-system' },
  { path: '/points/demo-xp?open=triggers.new', heading: 'XP', picture: 'trigger-new' },
  { path: '/achievements/demo-first-lesson', heading: 'First lesson', picture: 'achievement' },
  { path: '/achievements/new', heading: 'Achievements', picture: 'achievement-new' },
  { path: '/leaderboards/demo-weekly-xp', heading: 'XP this week', picture: 'leaderboard' },
  { path: '/leaderboards/new', heading: 'Leaderboards', picture: 'leaderboard-new' },
  { path: '/webhooks/new', heading: 'Webhooks', picture: 'webhook-new' },
  {
    path: '/notifications/achievement_completed-push',
    heading: 'Completed achievement by push message',
    picture: 'template',
  },
  { path: '/notifications/new', heading: 'Notifications', picture: 'template-new' },
  { path: '/api-keys/new', heading: 'API keys', picture: 'application-key-new' },
]

/** A form as the conventions of docs/console.md have it. Tests of others find it by these names. */
export type ConsoleForm = {
  /** The page with the button. */
  path: string
  /** The button that opens the form. */
  opens: string
  /** The title of the form. */
  title: string
  submit: string
  /** Some of its fields. */
  fields: readonly string[]
}

const formOf = (path: string, one: string, fields: readonly string[], submit = `Create ${one}`) => ({
  path,
  opens: `New ${one}`,
  title: `New ${one}`,
  submit,
  fields,
})

export const FORMS: readonly ConsoleForm[] = [
  formOf('/users', 'user', ['Id', 'Name', 'Email', 'Time zone']),
  formOf('/metrics', 'metric', ['Name', 'Key', 'Unit type', 'Units']),
  formOf('/points', 'points system', ['Name', 'Key', 'Description']),
  formOf('/points/demo-xp', 'trigger', ['Type', 'Metric', 'Threshold', 'Points', 'Status']),
  formOf('/points/demo-xp', 'level', ['Name', 'Key', 'Points']),
  formOf('/points/demo-xp', 'boost', ['Name', 'Multiplier', 'Start', 'End']),
  formOf('/achievements', 'achievement', ['Name', 'Key', 'Trigger', 'Metric', 'Value', 'Status']),
  formOf('/leaderboards', 'leaderboard', ['Name', 'Key', 'Rank by', 'Points system', 'Status']),
  formOf('/attributes', 'attribute', ['Name', 'Key', 'Type']),
  formOf('/webhooks', 'webhook', ['Address', 'Key', 'Status']),
  formOf('/notifications', 'template', ['Type', 'Channel', 'Title', 'Body', 'Key', 'Status']),
  formOf('/api-keys', 'admin key', ['Name'], 'Create key'),
  formOf('/api-keys', 'application key', ['User id', 'Scope'], 'Create key'),
  {
    path: '/users/demo-ada',
    opens: 'Adjust points',
    title: 'Adjust points',
    submit: 'Adjust points',
    fields: ['Points system', 'Amount', 'Reason'],
  },
]
