import type { User } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useAdmin } from '../../../api/laurel'
import { Loaded } from '../../../api/paging'
import type { Lookups } from '../../../resource/lookups'
import { Button } from '../../../ui/button'
import { DetailSheet } from '../../../ui/dialog'
import { formatMoment, formatMomentIn, VIEWER_ZONE, zoneOf } from '../../../ui/format'
import { Code, Facts } from '../../../ui/page'
import { say } from '../../../ui/text'
import { keyOfUser } from '../user-paths'
import { explanationInWords, signed } from './explanation'

type ExplanationProps = { user: User; system: string; awardId: string; lookups: Lookups; onClose: () => void }

/** Answers "why these 30 points?" in words. `system` is the key of the points system. */
export function ExplanationSheet({ user, system, awardId, lookups, onClose }: ExplanationProps) {
  const admin = useAdmin()
  const explained = useQuery({
    queryKey: keyOfUser(user.id, 'award', system, awardId),
    queryFn: () => admin.users.explainAward(user.id, system, awardId),
  })
  const name = lookups.points.nameOf(system)
  const { data: known } = explained
  const zone = zoneOf(user.tz)
  return (
    <DetailSheet
      title={known === undefined ? 'Why these points?' : say`Why ${signed(known.award.awarded)} ${name}?`}
      onClose={onClose}
      buttons={<Button onClick={onClose}>Close</Button>}
    >
      <Loaded query={explained} none="This award is no longer there.">
        {(data) => (
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
                zone === VIEWER_ZONE
                  ? null
                  : ["User's time", `${formatMomentIn(data.award.at, zone)} in ${zone}`],
                ['Award', <Code key="award">{data.award.id}</Code>],
                data.event === null ? null : ['Event', <Code key="event">{data.event.id}</Code>],
                data.event?.idempotencyKey == null
                  ? null
                  : ['Idempotency key', <Code key="key">{data.event.idempotencyKey}</Code>],
              ]}
            />
          </>
        )}
      </Loaded>
    </DetailSheet>
  )
}
