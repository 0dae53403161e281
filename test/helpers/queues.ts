/** The queues of wrangler.toml. */
import { join } from 'node:path'
import { unstable_readConfig } from 'wrangler'
import * as z from 'zod'

const Queues = z.object({
  queues: z.object({
    producers: z.array(z.object({ queue: z.string() })),
    consumers: z.array(
      z.object({
        queue: z.string(),
        max_batch_timeout: z.number(),
        max_retries: z.number().optional(),
        dead_letter_queue: z.string().optional(),
      }),
    ),
  }),
})

const config: unknown = unstable_readConfig({
  config: join(import.meta.dirname, '..', '..', 'wrangler.toml'),
})
export const { producers, consumers } = Queues.parse(config).queues
