import type { PinnedProcess } from './pinned-process.ts'

/** What can be measured, by its letter in the README. */
export const CONTESTANTS = {
  a: 'bare node:http',
  b: 'bare Fastify',
  c: 'Sexton, SQLite',
  d: 'Sexton, PostgreSQL',
  d2: 'Sexton, PostgreSQL, two replicas',
  e: '@fastify/rate-limit, memory',
  e2: '@fastify/rate-limit, Redis',
  e3: '@fastify/rate-limit, Redis, appendfsync always',
  f: 'rate-limiter-flexible, PostgreSQL',
  g: 'Sexton, SQLite, paid calls',
} as const

export type ContestantId = keyof typeof CONTESTANTS

/**
 * The order of a round, and backwards of the next: those that are compared stand side by side, and those
 * that keep PostgreSQL busy are apart.
 */
export const IN_TURN: readonly ContestantId[] = [
  'a',
  'b',
  'e',
  'c',
  'g',
  'e2',
  'e3',
  'f',
  'd',
  'd2',
]

export type CallerKind = 'keyed' | 'anonymous'

/** One competitor, running and ready to be asked. */
export interface Contestant {
  readonly id: ContestantId
  /** The processes that share its load. */
  readonly servers: readonly PinnedProcess[]
  readonly callers: readonly CallerKind[]
  /** Secrets that it knows; rivals take any. */
  readonly secretsFile: string
  /** Transactions that were committed so far. */
  commits?(): Promise<number>
  /** Calls that were counted so far. */
  counted?(): Promise<number>
  /** Lets the database finish what the load left it to do, so that nobody else is measured beside it. */
  settle?(): Promise<void>
}

/** Processor cores of the server, the load generator, the databases and a second replica. */
export interface Cores {
  readonly server: number
  readonly load: number
  readonly database: number
  readonly replica: number
}
