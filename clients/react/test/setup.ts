import { configure } from '@testing-library/react'
import { PATIENCE } from '../../../test/helpers/patience.ts'

// A busy machine must not fail a test.
configure({ asyncUtilTimeout: PATIENCE })
