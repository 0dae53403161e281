import { laurel } from '@/lib/laurel'

/** The newest entries, by a server component. Laurel has kept them, so this demo needs no database. */
export async function Diary({ userId, timeZone }: { userId: string; timeZone: string }) {
  const newest = await laurel.admin.users.timeline.list(userId, { types: 'event', limit: 50 })
  const entries = newest.flatMap((entry) => {
    const book = entry.type === 'event' ? entry.attributes['reading-book'] : undefined
    return entry.type === 'event' && book !== undefined ? [{ ...entry, book }] : []
  })
  const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone })
  return (
    <section className="card" aria-labelledby="diary">
      <h2 id="diary">Your diary</h2>
      {entries.length === 0 && <p>Nothing yet. Read a page, and write it down.</p>}
      <ul>
        {entries.slice(0, 5).map(({ id, book, value, at }) => (
          <li key={id}>
            <span>{book}</span>
            <span>
              {value} {value === 1 ? 'page' : 'pages'}, {day.format(new Date(at))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
