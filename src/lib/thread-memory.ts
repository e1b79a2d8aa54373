/**
 * Young generations of worker threads, in MB. Node's default of 48 brings no gain: their data is in
 * typed arrays and SQLite.
 */
export const YOUNG_MB = { index: 12, logs: 4, sqliteWriter: 4 } as const
