import type { Context } from '#context.ts'
import type { Leader } from '#operations/jobs/leader.ts'

/** What the jobs work with. A write to the accounts fails once another process leads. */
export interface JobDeps extends Context {
  /** The process's own, whose writes are not fenced. */
  readonly ctx: Context
  readonly leader: Pick<Leader, 'leads'>
  /** Takes what is to be done once no job starts any more. */
  onEnd(work: () => Promise<void>): void
}
