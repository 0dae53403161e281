/** What a deletion takes along and breaks, by names and numbers, in the question before it. */
import type { Laurel } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLaurel } from '../api/laurel'
import { Loaded } from '../api/paging'
import { counted, formatNumber } from '../ui/format'
import { nameOr } from '../ui/text'
import type { Admin } from './resource'

/** Something that is affected, with its page if it has one, and what happens to it. */
export type Affected = { path?: string; name: string; effect: string }
export type ReadAffected = (admin: Admin, laurel: Laurel) => Promise<readonly Affected[]>

/** What happens to the things that use something. `parts` is about parts of a points system, such as "2 triggers". */
type Effects = { parts: (these: string) => string; achievement: string; board: string; template: string }

/** The effects on things that only name it. */
export const NAMED: Effects = {
  parts: (these) => `names it in ${these}`,
  achievement: 'names it',
  board: 'names it',
  template: 'names it',
}

/** The effects on things that can't be without it. */
export const NEEDED: Effects = {
  ...NAMED,
  board: 'is deleted',
  template: 'names it, and has nothing there then',
}

/** A number of things as an entry; none if there are none. */
export const some = (name: string, count = 0): Affected[] =>
  count === 0 ? [] : [{ name, effect: formatNumber(count) }]

/** All things that use something: they name its id, or templates its key. */
export async function usersOf(
  admin: Admin,
  { id, key }: { id: string; key: string },
  effects: Effects,
): Promise<Affected[]> {
  const [systems, achievements, boards, templates] = await Promise.all([
    admin.points.list().toArray(),
    admin.achievements.list().toArray(),
    admin.leaderboards.list().toArray(),
    admin.notifications.templates.list().toArray(),
  ])
  const names = (one: { id: string }) => one.id !== id && JSON.stringify(one).includes(id)
  const entry = (page: string, one: { key: string; name?: string }, effect: string) => ({
    path: `/${page}/${encodeURIComponent(one.key)}`,
    name: nameOr(one.name, one.key),
    effect,
  })
  const inSystems = await Promise.all(
    systems.map(async (system) => {
      const [triggers, boosts] = await Promise.all([
        admin.points.triggers.list(system.key).toArray(),
        admin.points.boosts.list(system.key).toArray(),
      ])
      const [ofTriggers, ofBoosts] = [triggers.filter(names).length, boosts.filter(names).length]
      const parts = [ofTriggers && counted(ofTriggers, 'trigger'), ofBoosts && counted(ofBoosts, 'boost')]
      const these = parts.filter(Boolean).join(' and ')
      return these === '' ? [] : [entry('points', system, effects.parts(these))]
    }),
  )
  const variable = new RegExp(`[."']${key}(?![\\w-])`)
  const isIn = ({ subject, title, body }: { subject?: string; title?: string; body: string }) =>
    variable.test(`${subject} ${title} ${body}`)
  return [
    ...inSystems.flat(),
    ...achievements.filter(names).map((one) => entry('achievements', one, effects.achievement)),
    ...boards.filter(names).map((one) => entry('leaderboards', one, effects.board)),
    ...templates
      .filter((one) => names(one) || isIn(one))
      .map((one) => entry('notifications', one, effects.template)),
  ]
}

/** How many of them are listed. */
const MOST = 12

/** The list of what is affected. */
export function AffectedList({ name, read }: { name: readonly string[]; read: ReadAffected }) {
  const laurel = useLaurel()
  const query = useQuery({ queryKey: name, queryFn: () => read(laurel.admin, laurel) })
  return (
    // Its height is the same from the start: a list that grows would move the buttons away from under a press.
    <div className="mt-3 h-36 overflow-y-auto rounded-md border border-line px-3 py-2">
      <Loaded query={query} className="h-31">
        {(all) => (
          <>
            <p>{all.length === 0 ? 'Nothing else is affected.' : 'This is affected:'}</p>
            <ul className="mt-1 flex flex-col gap-1">
              {all.slice(0, MOST).map(({ path, name, effect }) => (
                <li key={`${path} ${name}`}>
                  {path === undefined ? (
                    <bdi>{name}</bdi>
                  ) : (
                    <Link to={path} className="text-accent underline wrap-anywhere">
                      <bdi>{name}</bdi>
                    </Link>
                  )}
                  : {effect}
                </li>
              ))}
              {all.length > MOST && <li>and {all.length - MOST} more</li>}
            </ul>
          </>
        )}
      </Loaded>
    </div>
  )
}
