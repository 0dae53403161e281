/** The kinds of things in the demo that an example can name. */
export const DEMO_KINDS = [
  'attribute',
  'metric',
  'system',
  'level',
  'trigger',
  'boost',
  'achievement',
  'leaderboard',
  'webhook',
  'delivery',
  'template',
  'batch',
  'event',
  'pause',
  'award',
  'applicationKey',
  'adminKey',
] as const

export type DemoKind = (typeof DEMO_KINDS)[number]
