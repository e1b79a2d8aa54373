import { testFigures } from './test-figures.ts'

/** As much as a first start makes. */
const HISTORY_DAYS = 120

await testFigures(HISTORY_DAYS)
