import type { WriteCall } from './strace.ts'

/** A process that can be killed at a chosen write of its store, as often as one likes. */
export interface KillStage {
  /** How often the process makes each call when it is left alone. */
  count(calls: readonly WriteCall[]): Promise<ReadonlyMap<WriteCall, number>>
  /** Kills it at one call, starts it again and checks what it kept. */
  kill(call: WriteCall, at: number): Promise<KillOutcome>
  stop(): Promise<void>
}

export interface KillOutcome {
  /** False when the process ended by itself before so many calls. */
  readonly killed: boolean
  /** What it was doing. */
  readonly step?: string | undefined
  /** Broken promises in words. */
  readonly broken: readonly string[]
}
