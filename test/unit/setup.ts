import { beforeEach } from 'vitest'
import { SEED, seedTests } from '../helpers/seed'
import { beginTime } from '../helpers/time'

seedTests()
beginTime()
beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(`TEST_SEED=${SEED}`)))
