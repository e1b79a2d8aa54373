import type { Connection, Engine, PoolFigures } from '../engine.ts'
import { StoreError } from '../engine.ts'
import { column } from '../row.ts'
import { type Sql, sql } from '../sql.ts'

export interface ReadReplicasOptions {
  readonly primary: Engine
  readonly standbys: readonly Engine[]
  /** Age of the last transaction that a standby replayed. */
  readonly lagMaxMs: number
}

/** A standby that is behind usually is for milliseconds. */
const RETRY_MS = { behind: 50, failed: 1_000 }

interface Standby {
  readonly engine: Engine
  /** Every later snapshot shows at least this much of the log. */
  replayed: bigint
  retryMs: number
}

/**
 * Reads from the primary while no standby keeps up. Positions in the write-ahead log order what was read, so
 * no answer of this process is older than one before it.
 */
export function readFromStandbys({ primary, standbys, lagMaxMs }: ReadReplicasOptions): Engine {
  const known = standbys.map((engine): Standby => ({ engine, replayed: -1n, retryMs: 0 }))
  let seen = 0n
  const readOne = async <T>(standby: Standby, work: (reads: Connection) => Promise<T>) => {
    if (standby.replayed < seen) standby.replayed = (await placeOf(standby.engine.read)).at
    return standby.engine.snapshot(async (reads) => {
      const { at, lagMs } = await placeOf((statement) => reads.run(statement))
      if (lagMs > lagMaxMs) throw new StoreError('a standby is late')
      if (standby.replayed < seen) throw new BehindError()
      const result = await work(reads)
      standby.replayed = at
      if (at > seen) seen = at
      return result
    })
  }
  const readPrimary = <T>(work: (reads: Connection) => Promise<T>) =>
    primary.snapshot(async (reads) => {
      const [row] = await reads.run(sql`select ${bytes('pg_current_wal_insert_lsn()')} as at`)
      const result = await work(reads)
      if (row !== undefined) seen = max(seen, BigInt(column.integer(row, 'at')))
      return result
    })
  const snapshot = async <T>(work: (reads: Connection) => Promise<T>): Promise<T> => {
    for (const standby of known) {
      if (performance.now() < standby.retryMs) continue
      try {
        return await readOne(standby, work)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        const { behind, failed } = RETRY_MS
        standby.retryMs = performance.now() + (error instanceof BehindError ? behind : failed)
      }
    }
    return readPrimary(work)
  }
  return {
    ...primary,
    read: (statement) => snapshot((reads) => reads.run(statement)),
    snapshot,
    pool: () => sum(standbys.flatMap(({ pool }) => pool?.() ?? [])),
    async close() {
      await Promise.all(standbys.map((each) => each.close()))
    },
  }
}

class BehindError extends StoreError {
  constructor() {
    super('a standby is behind')
  }
}

/** Bytes of the log since its start. */
function bytes(lsn: string): Sql {
  return { kind: 'sql', parts: [`cast(${lsn} - '0/0'::pg_lsn as bigint)`], values: [] }
}

/** A server that is not a standby counts as infinitely late. */
async function placeOf(
  run: (statement: Sql) => Promise<readonly Parameters<typeof column.integer>[0][]>,
) {
  const [row] = await run(sql`
    select coalesce(${bytes('pg_last_wal_replay_lsn()')}, 0) as at,
      case when pg_is_in_recovery() then coalesce(cast(
        extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 as bigint), -1)
      else -1 end as lag_ms`)
  if (row === undefined) throw new BehindError()
  const lagMs = column.integer(row, 'lag_ms')
  return {
    at: BigInt(column.integer(row, 'at')),
    lagMs: lagMs < 0 ? Number.POSITIVE_INFINITY : lagMs,
  }
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

function sum(figures: readonly PoolFigures[]): PoolFigures {
  const of = (pick: (each: PoolFigures) => number) =>
    figures.reduce((all, each) => all + pick(each), 0)
  return {
    connectionsMax: of((each) => each.connectionsMax),
    open: of((each) => each.open),
    inUse: of((each) => each.inUse),
    waiting: of((each) => each.waiting),
    refused: of((each) => each.refused),
  }
}
