import type { AuditLogEntry } from '@laurel/client'
import { Link } from '@tanstack/react-router'
import { type Lookup, type Lookups, type Named, useLookups } from '../../resource/lookups'
import { DetailSheet } from '../../ui/dialog'
import { Moment } from '../../ui/format'
import { Code, Facts } from '../../ui/page'
import { actionOf, actorOf, fieldInWords, isOfUser, pathOf, subjectOf, valueText } from './words'

/** The things that a field names by their ids. */
function lookupOf(field: string, { points, metrics, achievements }: Lookups): Lookup<Named> | undefined {
  switch (field) {
    case 'pointsSystemId':
      return points
    case 'metricId':
      return metrics
    case 'achievementId':
      return achievements
    default:
      return undefined
  }
}

/** One change: who made it, and each field before and after. */
export function EntrySheet({ entry, onClose }: { entry: AuditLogEntry; onClose: () => void }) {
  const { at, resourceId, requestId, fields } = entry
  const changes = Object.entries(fields)
  const path = pathOf(entry)
  const lookups = useLookups(['points', 'metrics', 'achievements'])
  /** The value of a field. Ids of configured things have their names. */
  const shown = (name: string, value: unknown): string => {
    const found = typeof value === 'string' ? lookupOf(name, lookups)?.find(value) : undefined
    return found?.name ?? valueText(value)
  }
  return (
    <DetailSheet title={`${actionOf(entry)} ${subjectOf(entry)}`} onClose={onClose}>
      <Facts
        facts={[
          ['Time', <Moment key="at" iso={at} />],
          ['Changed by', actorOf(entry)],
          path === null
            ? null
            : [
                'Page',
                <Link key="path" to={path} className="text-accent underline">
                  {subjectOf(entry)}
                </Link>,
              ],
          resourceId === null ? null : ['Id', <Code key="id">{resourceId}</Code>],
          ['Request', <Code key="request">{requestId}</Code>],
        ]}
      />
      {isOfUser(entry) && (
        <p className="text-quiet">
          The log names users by an internal id only, so that nothing of an erased user stays here. The
          timeline of a user has the same change.
        </p>
      )}
      {changes.length === 0 ? (
        <p className="text-quiet">
          The entry has no fields: nothing was stored with it, or its user was erased.
        </p>
      ) : (
        <table className="w-full table-fixed border-collapse text-left">
          <caption className="sr-only">Changed fields</caption>
          <thead>
            <tr className="border-b border-line text-sm text-quiet">
              <th scope="col" className="w-1/4 py-2 pr-3 font-medium">
                Field
              </th>
              <th scope="col" className="py-2 pr-3 font-medium">
                Before
              </th>
              <th scope="col" className="py-2 font-medium">
                After
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.map(([name, { before, after }]) => (
              <tr key={name} className="border-b border-line align-top last:border-b-0">
                <th scope="row" className="py-2 pr-3 font-medium">
                  {fieldInWords(name)}
                </th>
                <td className="py-2 pr-3 whitespace-pre-wrap text-quiet">{shown(name, before)}</td>
                <td className="py-2 whitespace-pre-wrap">{shown(name, after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </DetailSheet>
  )
}
