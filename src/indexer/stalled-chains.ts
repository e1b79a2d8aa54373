import { DeepReorgError, UnlinkedBlocksError } from '#chain/follow.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Clock } from '#lib/clock.ts'
import {
  type Connection,
  ConstraintError,
  type Engine,
  type Migration,
  StoreError,
} from '#store/engine.ts'
import { holdLease, type Lease } from '#store/lease.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const stalledChainsMigration: Migration = {
  id: 1040,
  name: 'chains that cannot be read on',
  sql: `
    create table stalled_chains (
      chain_id bigint not null,
      part text not null,
      reason text not null,
      detail text not null,
      primary key (chain_id, part)
    )`,
}

export const STALL_REASONS = [
  /** The chain contradicts a block that counted as final. */
  'deep_reorg',
  /** The blocks that a node gives do not follow one another. */
  'unlinked_blocks',
  /** No node answers, or none with what can be true. */
  'unreadable_node',
  /** What the nodes gave cannot be stored. */
  'unusable_data',
] as const
export type StallReason = (typeof STALL_REASONS)[number]

/** Why a chain cannot be read on. */
export interface Stall {
  readonly reason: StallReason
  /** For the operator; names hosts. */
  readonly detail: string
}

/** Whether what is stored of a chain cannot be right, such as balances that no transfers explain. */
export function isUnusable(stall: Stall | undefined): boolean {
  return stall?.reason === 'unusable_data'
}

/** New blocks and older history are read side by side, and either may stall. */
export type StallPart = 'head' | 'history'

/** Of each chain that is stalled, why; that of the head where both parts are. */
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

/** A node that moves on while it is asked fails once; what fails again is told. */
const FAILURES_UNTIL_TOLD = 2

interface StallNoteDeps {
  readonly engine: Engine
  readonly lease: Lease
  readonly clock: Clock
}

/** Notes in the register that a part of a chain is stalled, so that every process can tell. */
export class StallNote {
  readonly #deps: StallNoteDeps
  readonly #chainId: number
  readonly #part: StallPart
  #failuresInRow = 0
  /** What the register says; undefined while that is not known. */
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
    if (reason !== 'deep_reorg' && this.#failuresInRow < FAILURES_UNTIL_TOLD) return
    // Details vary with every attempt; the reason is what others act on.
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
    const { engine, lease, clock } = this.#deps
    await engine.write(async (connection) => {
      await holdLease(connection, lease, clock())
      await connection.run(statement)
    })
  }

  /** A store that is down is noted nowhere; the next attempt tries again. */
  async #unlessStoreFails(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof StoreError) || error.name === 'LeaseLostError') throw error
    }
  }
}

/** Undefined where it is no fault of the chain or its nodes. */
function stallOf(error: unknown): Stall | undefined {
  const detail = error instanceof Error ? error.message : String(error)
  // A store that works but refuses the data will refuse it again.
  if (error instanceof ConstraintError) return { reason: 'unusable_data', detail }
  if (error instanceof StoreError) return undefined
  if (error instanceof DeepReorgError) return { reason: 'deep_reorg', detail }
  if (error instanceof UnlinkedBlocksError) return { reason: 'unlinked_blocks', detail }
  return { reason: error instanceof RpcError ? 'unreadable_node' : 'unusable_data', detail }
}
