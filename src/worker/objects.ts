import { newInstance } from '../configuration/configuration'
import { TimekeeperObject } from '../time/timekeeper.object'
import { DeliveryQueueObject } from '../webhooks/delivery/queue.object'
import { channelTo, JOBS } from './jobs'

/** The Timekeeper of a tenant, with all jobs. */
export class Timekeeper extends TimekeeperObject {
  protected readonly jobs = JOBS
  protected readonly instance = newInstance()
}

/** The delivery queue of a destination, with all channels. */
export class Courier extends DeliveryQueueObject {
  protected readonly channels = channelTo
}
