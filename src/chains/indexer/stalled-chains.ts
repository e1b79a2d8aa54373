import { DeepReorgError, UnlinkedBlocksError } from '#chains/chain/follow.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Fence } from '#operations/jobs/leader.ts'
import {
  type Connection,
  ConstraintError,
  type Engine,
  StoreError,
  type Tables,
} from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const stalledChainsTables: Tables = `
    create table stalled_chains (
      chain_id bigint not null,
      part text not null,
      reason text not null,
      detail text not null,
      primary key (chain_id, part)
    )`

export const STALL_REASONS = [
  'deep_reorg',
  'unlinked_blocks',
  'unreadable_node',
  'unusable_data',
] as const
export type StallReason = (typeof STALL_REASONS)[number]

export interface Stall {
  readonly reason: StallReason
  /** Names hosts; for the operator. */
  readonly detail: string
}

/** Whether the store refused what was read, or reading it failed. */
export function isUnusable(stall: Stall | undefined): boolean {
  return stall?.reason === 'unusable_data'
}

/** Concurrent; either may stall. */
export type StallPart = 'head' | 'history'

/** The head's stall wins. */
export async function readStalls(reads: Connection): Promise<ReadonlyMap<number, Stall>> {
  const rows = await reads.run(sql`
    select chain_id, reason, detail from stalled_chains order by chain_id, part desc`)
  return new Map(
    rows.map((row) => {
      const reason = STALL_REASONS.find((each) => each === row.reason) ?? 'unusable_data'
      return [column.integer(row, 'chain_id'), { reason, detail: column.text(row, 'detail') }]
    }),
  )
}

/** One may be a head that moved between calls. */
const FAILURES_UNTIL_REPORTED = 2

interface StallNoteDeps {
  readonly engine: Engine
  readonly leader: Fence
}

export class StallNote {
  readonly #deps: StallNoteDeps
  readonly #chainId: number
  readonly #part: StallPart
  #failuresInRow = 0
  #noted: string | null | undefined

  constructor(deps: StallNoteDeps, chainId: number, part: StallPart) {
    this.#deps = deps
    this.#chainId = chainId
    this.#part = part
  }

  async worked(): Promise<void> {
    this.#failuresInRow = 0
    if (this.#noted === null) return
    await this.#unlessStoreFails(async () => {
      if (this.#noted === undefined && !(await this.#isNoted())) return this.#know(null)
      await this.#write(
        sql`delete from stalled_chains where chain_id = ${this.#chainId} and part = ${this.#part}`,
      )
      this.#know(null)
    })
  }

  async failed(error: unknown): Promise<void> {
    const stall = stallOf(error)
    if (stall === undefined) return
    this.#failuresInRow += 1
    const { reason, detail } = stall
    if (reason !== 'deep_reorg' && this.#failuresInRow < FAILURES_UNTIL_REPORTED) return
    // Details vary between attempts.
    if (this.#noted === reason) return
    await this.#unlessStoreFails(async () => {
      await this.#write(sql`
        insert into stalled_chains (chain_id, part, reason, detail)
        values (${this.#chainId}, ${this.#part}, ${reason}, ${detail})
        on conflict (chain_id, part) do update set
          reason = excluded.reason, detail = excluded.detail`)
      this.#know(reason)
    })
  }

  #know(noted: string | null): void {
    this.#noted = noted
  }

  async #isNoted(): Promise<boolean> {
    const rows = await this.#deps.engine.snapshot((reads) =>
      reads.run(sql`
        select 1 from stalled_chains where chain_id = ${this.#chainId} and part = ${this.#part}`),
    )
    return rows.length > 0
  }

  async #write(statement: ReturnType<typeof sql>): Promise<void> {
    const { engine, leader } = this.#deps
    await engine.write(async (connection) => {
      await leader.hold(connection)
      await connection.run(statement)
    })
  }

  async #unlessStoreFails(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof StoreError) || error.name === 'LeadLostError') throw error
    }
  }
}

/** Undefined if neither chain nor nodes are at fault. */
function stallOf(error: unknown): Stall | undefined {
  const detail = error instanceof Error ? error.message : String(error)
  // The store refuses the same data again.
  if (error instanceof ConstraintError) return { reason: 'unusable_data', detail }
  if (error instanceof StoreError) return undefined
  if (error instanceof DeepReorgError) return { reason: 'deep_reorg', detail }
  if (error instanceof UnlinkedBlocksError) return { reason: 'unlinked_blocks', detail }
  return { reason: error instanceof RpcError ? 'unreadable_node' : 'unusable_data', detail }
}
