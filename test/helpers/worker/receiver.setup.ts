import type { TestProject } from 'vitest/node'
import { Receiver } from '../receiver'

declare module 'vitest' {
  export interface ProvidedContext {
    receiver: string
    simulation: { from: number; seeds: number; size: 'small' | 'full' }
  }
}

/** Starts a receiver of webhooks for the tests that run inside a Worker. */
export default async function setup(project: TestProject): Promise<() => void> {
  const receiver = new Receiver()
  project.provide('receiver', await receiver.start())
  return () => receiver.stop()
}
