/**
 * Young generations of worker threads in MB. Node's default of 48 costs resident memory per thread
 * without gain: their data is in typed arrays and SQLite (docs/decisions/starting.md).
 */
export const YOUNG_MB = { index: 12, logs: 4, sqliteWriter: 4 } as const
