import { Card } from '../ui/page'
import { SendEvent } from '../ui/send-event'
import { say } from '../ui/text'
import { useLookups } from './lookups'

/** How to send the first event. There is nothing to send before there is a metric. */
export function FirstEvent() {
  const { metrics } = useLookups(['metrics'])
  const [metric] = metrics.all
  if (metric === undefined) return null
  return (
    <Card
      title="Send your first event"
      about={say`It adds 1 to ${metrics.nameOf(metric.id)}, and makes a user appear.`}
    >
      <SendEvent metricKey={metric.key} />
    </Card>
  )
}
