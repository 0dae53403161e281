/**
 * The rooms of `src`, from the lowest to the highest. Each one imports only rooms below it, types included.
 * docs/architecture.md says what each is for.
 */
const ROOMS = [
  'lib',
  'platform',
  'access',
  'time',
  'configuration',
  'rules',
  'api',
  'webhooks',
  'store',
  'leaderboards',
  'features',
  'worker',
]

/** A room's files may not import from the rooms above it. */
const upward = ROOMS.slice(0, -1).map((room, index) => ({
  name: `${room}-imports-nothing-above-it`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: `^src/(${ROOMS.slice(index + 1).join('|')})/` },
}))

/**
 * The files that decide. They get all their input as arguments, so that the same input gives the same
 * decision.
 */
const RULES = '(\\.rules\\.ts$|^src/rules/)'

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'No file imports itself through others, types included.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-other-rooms',
      comment: 'A new folder of src needs a place in ROOMS.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${ROOMS.join('|')})/` },
      to: {},
    },
    ...upward,
    {
      name: 'features-keep-their-tables',
      comment: 'A feature uses another feature through its service, and writes no SQL for its tables.',
      severity: 'error',
      from: { path: '^src/features/([^/]+)/' },
      to: { path: '^src/features/[^/]+/.*\\.sql\\.ts$', pathNot: '^src/features/$1/' },
    },
    {
      name: 'rules-are-pure',
      comment: 'Rules import no zod, no HTTP, no SQL, no clock and no random numbers.',
      severity: 'error',
      from: { path: RULES },
      to: {
        path: [
          '^src/(platform|access|time|api)/',
          '\\.(sql|resource|routes|object)\\.ts$',
          '^src/lib/(system-clock|new-id)\\.ts$',
          '^node_modules/(zod|drizzle-orm|hono|uuid)/',
        ],
      },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
}
