import { beforeEach } from 'vitest'
import { SEED, seedTests } from '../helpers/seed'

seedTests()
beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(`TEST_SEED=${SEED}`)))
