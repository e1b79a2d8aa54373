import { testFigures } from './test-figures.ts'

/** The history that other files of a run share; `long-history.ts` compares a longer one. */
const HISTORY_DAYS = 40

await testFigures(HISTORY_DAYS)
