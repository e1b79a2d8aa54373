/** Node's default of 48 MB per thread brings no gain: data is in typed arrays and SQLite. */
export const YOUNG_MB = { index: 12, logs: 4, sqliteWriter: 4 } as const
