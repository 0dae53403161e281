import { useQuery } from '@tanstack/react-query'
import { isNotFound, messageOf } from '../../../api/errors'
import { useAdmin } from '../../../api/laurel'
import type { Lookups } from '../../../resource/lookups'
import { Button } from '../../../ui/button'
import { Sheet } from '../../../ui/dialog'
import { formatMoment, formatMomentIn, VIEWER_ZONE } from '../../../ui/format'
import { Code, Facts, Notice, Skeleton } from '../../../ui/page'
import { say } from '../../../ui/text'
import { keyOfUser } from '../user-paths'
import { explanationInWords, signed } from './explanation'

type ExplanationProps = {
  userId: string
  /** The user's zone; null for UTC. */
  zone: string | null
  /** The key of the points system. */
  system: string
  awardId: string
  lookups: Lookups
  onClose: () => void
}

/** Answers "why these 30 points?" in words. */
export function ExplanationSheet({ userId, zone, system, awardId, lookups, onClose }: ExplanationProps) {
  const admin = useAdmin()
  const explained = useQuery({
    queryKey: keyOfUser(userId, 'award', system, awardId),
    queryFn: () => admin.users.explainAward(userId, system, awardId),
  })
  const name = lookups.points.nameOf(system)
  const { data } = explained
  return (
    <Sheet
      title={data === undefined ? 'Why these points?' : say`Why ${signed(data.award.awarded)} ${name}?`}
      onClose={onClose}
    >
      <div className="sheet-body" aria-busy={explained.isPending}>
        {explained.isError && (
          <Notice tone="danger">
            {isNotFound(explained.error) ? 'This award is no longer there.' : messageOf(explained.error)}
          </Notice>
        )}
        {explained.isPending && <Skeleton className="h-32 w-full" />}
        {data !== undefined && (
          <>
            <ol className="flex flex-col gap-2.5">
              {explanationInWords(data, name, lookups).map((sentence, index) => (
                <li key={sentence} className="flex gap-3">
                  <span
                    aria-hidden="true"
                    className="mt-0.5 grid size-5 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-medium text-accent"
                  >
                    {index + 1}
                  </span>
                  <p className="min-w-0">{sentence}</p>
                </li>
              ))}
            </ol>
            <Facts
              facts={[
                ['Time', formatMoment(data.award.at)],
                (zone ?? 'UTC') === VIEWER_ZONE
                  ? null
                  : ["User's time", `${formatMomentIn(data.award.at, zone ?? 'UTC')} in ${zone ?? 'UTC'}`],
                ['Award', <Code key="award">{data.award.id}</Code>],
                data.event === null ? null : ['Event', <Code key="event">{data.event.id}</Code>],
                data.event?.idempotencyKey == null
                  ? null
                  : ['Idempotency key', <Code key="key">{data.event.idempotencyKey}</Code>],
              ]}
            />
          </>
        )}
      </div>
      <div className="sheet-foot">
        <div className="flex justify-end">
          <Button onClick={onClose}>Close</Button>
        </div>
      </div>
    </Sheet>
  )
}
