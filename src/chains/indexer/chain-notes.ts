import { DeepReorgError, UnlinkedBlocksError } from '#chains/chain/follow.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { type Connection, ConstraintError, StoreError, type Tables } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import type { CommitDeps } from './commit.ts'
import { type StallReason, toStallReason } from './status.ts'

/** Why a chain stalls, which it may before it has a position. */
export const chainNotesTables: Tables = `
    create table chain_notes (
      chain_id bigint primary key,
      stall text,
      stall_detail text
    )`

export interface Stall {
  readonly reason: StallReason
  /** Names hosts; for the operator. */
  readonly detail: string
}

export async function readStalls(reads: Connection): Promise<ReadonlyMap<number, Stall>> {
  const found = await reads.run(sql`
    select chain_id, stall, stall_detail from chain_notes where stall is not null`)
  return new Map(
    found.map((row) => [
      column.integer(row, 'chain_id'),
      {
        reason: toStallReason(row.stall) ?? 'unusable_data',
        detail: column.text(row, 'stall_detail'),
      },
    ]),
  )
}

/** Whether the store refused what was read, or reading it failed. */
export function isUnusable(stall: Stall | undefined): boolean {
  return stall?.reason === 'unusable_data'
}

/** One may be a head that moved between calls. */
const FAILURES_UNTIL_REPORTED = 2

type StallNoteDeps = Pick<CommitDeps, 'engine' | 'leader'>

export class StallNote {
  readonly #deps: StallNoteDeps
  readonly #chainId: number
  #failuresInRow = 0
  #noted: string | null | undefined

  constructor(deps: StallNoteDeps, chainId: number) {
    this.#deps = deps
    this.#chainId = chainId
  }

  async worked(): Promise<void> {
    this.#failuresInRow = 0
    if (this.#noted === null) return
    await this.#unlessStoreFails(async () => {
      if (this.#noted !== undefined || (await this.#isNoted()))
        await this.#write(sql`
          update chain_notes set stall = null, stall_detail = null
          where chain_id = ${this.#chainId}`)
      this.#noted = null
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
        insert into chain_notes (chain_id, stall, stall_detail)
        values (${this.#chainId}, ${reason}, ${detail})
        on conflict (chain_id) do update set
          stall = excluded.stall, stall_detail = excluded.stall_detail`)
      this.#noted = reason
    })
  }

  async #isNoted(): Promise<boolean> {
    const rows = await this.#deps.engine.snapshot((reads) =>
      reads.run(sql`
        select 1 from chain_notes
        where chain_id = ${this.#chainId} and stall is not null`),
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
