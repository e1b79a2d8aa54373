import type { Logger } from 'pino'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Settings } from '#config.ts'
import type { Clock } from '#lib/time.ts'
import type { Leader } from '#operations/jobs/leader.ts'
import type { Stores } from '../stores.ts'

/** What the jobs work with. */
export interface JobDeps {
  readonly ecosystem: Ecosystem
  /** The accounts of the leader: a write fails once another process leads. */
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly settings: Pick<Settings, 'settling' | 'webhookPrivate'>
  readonly leader: Pick<Leader, 'leads'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Wakes requests of this process that wait for a prepayment. */
  onChange(): void
  /** Takes what is to be done once no job starts any more. */
  onEnd(work: () => Promise<void>): void
}
