/** How SQLite changes its files, by system call. */
export const writeCalls = ['pwrite64', 'ftruncate', 'unlink'] as const

export type WriteCall = (typeof writeCalls)[number]
