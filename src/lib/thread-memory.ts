/**
 * Young generations of the worker threads in MB (`resourceLimits` of node:worker_threads). Node's default
 * of 48 costs that much resident memory per thread and makes none of them faster: their data is in typed
 * arrays and in SQLite. The allocator's settings are in package.json, their reasons in docs/decisions/starting.md.
 */
export const YOUNG_MB = { index: 12, logs: 4, sqliteWriter: 4 } as const
