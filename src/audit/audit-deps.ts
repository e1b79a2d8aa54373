import type { ChainSource } from '#chain/chain-source.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'

/** What the audit of the register needs. */
export interface AuditDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  sourceOf(chain: Chain): ChainSource
  onProgress(progress: {
    /** What is being done, in words. */
    readonly task: string
    readonly done: number
    readonly total: number
  }): void
  /** One line for each thing that was checked. */
  note(line: string): void
}
