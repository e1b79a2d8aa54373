import { DeepReorgError, UnlinkedBlocksError } from '#chains/chain/follow.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Fence } from '#operations/jobs/leader.ts'
import { type Connection, ConstraintError, type Engine, StoreError } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'

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
    select chain_id, coalesce(head_stall, history_stall) as reason,
      coalesce(head_stall_detail, history_stall_detail) as detail
    from chain_notes where head_stall is not null or history_stall is not null`)
  return new Map(
    rows.map((row) => {
      const reason = STALL_REASONS.find((each) => each === row.reason) ?? 'unusable_data'
      return [column.integer(row, 'chain_id'), { reason, detail: column.text(row, 'detail') }]
    }),
  )
}

export async function forgetStalls(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    update chain_notes set head_stall = null, head_stall_detail = null,
      history_stall = null, history_stall_detail = null
    where chain_id = ${chainId}`)
}

/** The columns of a part: why it stalls, and the detail. */
const COLUMNS = {
  head: [sql`head_stall`, sql`head_stall_detail`],
  history: [sql`history_stall`, sql`history_stall_detail`],
} as const

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
      const [reason, detail] = COLUMNS[this.#part]
      await this.#write(sql`
        update chain_notes set ${reason} = null, ${detail} = null where chain_id = ${this.#chainId}`)
      this.#know(null)
    })
  }

  async failed(error: unknown): Promise<void> {
    const stall = stallOf(error)
    if (stall === undefined) return
    this.#failuresInRow += 1
    const { reason, detail } = stall
    const [reasonColumn, detailColumn] = COLUMNS[this.#part]
    if (reason !== 'deep_reorg' && this.#failuresInRow < FAILURES_UNTIL_REPORTED) return
    // Details vary between attempts.
    if (this.#noted === reason) return
    await this.#unlessStoreFails(async () => {
      await this.#write(sql`
        insert into chain_notes (chain_id, ${reasonColumn}, ${detailColumn})
        values (${this.#chainId}, ${reason}, ${detail})
        on conflict (chain_id) do update set
          ${reasonColumn} = excluded.${reasonColumn}, ${detailColumn} = excluded.${detailColumn}`)
      this.#know(reason)
    })
  }

  #know(noted: string | null): void {
    this.#noted = noted
  }

  async #isNoted(): Promise<boolean> {
    const rows = await this.#deps.engine.snapshot((reads) =>
      reads.run(sql`
        select 1 from chain_notes
        where chain_id = ${this.#chainId} and ${COLUMNS[this.#part][0]} is not null`),
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
