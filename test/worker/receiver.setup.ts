import type { TestProject } from 'vitest/node'
import { Receiver } from '../receiver'

declare module 'vitest' {
  export interface ProvidedContext {
    receiver: string
  }
}

/** Starts a receiver of webhooks for the tests that run inside a Worker. */
export default async function setup(project: TestProject): Promise<() => void> {
  const receiver = new Receiver()
  project.provide('receiver', await receiver.start())
  return () => receiver.stop()
}
