import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'

export interface AuditDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  sourceOf(chain: Chain): ChainSource
  onProgress(progress: {
    readonly task: string
    readonly done: number
    readonly total: number
  }): void
  note(line: string): void
}
