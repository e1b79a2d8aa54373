import type { MicroUsd } from './money.ts'

/** An undefined member limits nothing. */
export interface KeyLimits {
  /** What paid calls may cost in a UTC day; free calls do not count. */
  readonly dailyCapMicroUsd?: MicroUsd | undefined
  readonly expiresUnix?: number | undefined
  /** What the key's predecessors spent on a UTC day (Unix seconds). */
  readonly spentBefore?: { readonly day: number; readonly microUsd: MicroUsd }
}

/** A daily cap that is used up. */
export interface ReachedCap {
  readonly microUsd: MicroUsd
  readonly resetUnix: number
}
