/** The order in which vitest runs the test files. */
import { createHash } from 'node:crypto'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Projects in the order in which they begin. Those with servers and browsers wait for most of their time, so they
 * begin first and the others use the cores meanwhile. Short files come last and leave no core idle.
 */
const FIRST = ['console', 'server', 'worker', 'spread']

const rank = ({ project }: TestSpecification) => {
  const index = FIRST.indexOf(project.name)
  return index === -1 ? FIRST.length : index
}

/**
 * Keeps the files of a project together, since Workers are kept for the next file only if it is of the same project.
 * `--sequence.shuffle.tests` shuffles the files of each project too, by `--sequence.seed`.
 */
export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shuffle, seed } = this.ctx.config.sequence
    const place = ({ moduleId }: TestSpecification) =>
      createHash('sha256').update(`${seed} ${moduleId}`).digest('hex')
    const sorted = shuffle
      ? files.toSorted((a, b) => place(a).localeCompare(place(b)))
      : await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b) || a.project.name.localeCompare(b.project.name))
  }
}
