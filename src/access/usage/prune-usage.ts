import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, DAY_SECONDS, startOfDay, unixNow } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/** Enough for questions about last month; every anonymous caller leaves a row. */
const KEEP_ADDRESS_DAYS = 35

const KEEP_WALLET_DAYS = 100

/** On SQLite it runs on the thread that serves requests; on PostgreSQL each page costs a commit. */
export const ROWS_PER_PAGE = { sqlite: 50, postgres: 1_000 }

/** Other work of the verifier waits for a run. */
const PAGES_PER_RUN_MAX = { sqlite: 1_000, postgres: 200 }

export interface PruneUsageDeps {
  readonly engine: Engine
  readonly clock: Clock
  /** Unix seconds, of the newest indexed block. */
  readonly headUnix: () => Promise<number | undefined>
}

/**
 * Deletes old process rows and counters, but not days with paid calls, which the audit needs. A day ends when the chain has passed it, so a wrong clock deletes nothing early.
 * Runs resume.
 */
export function createUsagePruning(deps: PruneUsageDeps): () => Promise<void> {
  const { engine } = deps
  const ofAddresses = new Sweep(engine, {
    table: sql`usage_days`,
    key: sql`bucket`,
    isDone: sql`paid = 0 and bucket not like 'wallet:%'`,
  })
  const ofWallets = new Sweep(engine, {
    table: sql`usage_days`,
    key: sql`bucket`,
    isDone: sql`paid = 0`,
  })
  const ofKeys = new Sweep(engine, {
    table: sql`key_days`,
    key: sql`public_id`,
    isDone: sql`not exists (
      select 1 from usage_days where usage_days.day = key_days.day
        and usage_days.bucket = coalesce(
          (select 'wallet:' || wallet from keys where keys.public_id = key_days.public_id),
          key_days.public_id))`,
  })
  const ofMeters = new Sweep(engine, {
    table: sql`meters`,
    key: sql`meter`,
    isDone: sql`true`,
  })
  return async () => {
    const headUnix = await deps.headUnix()
    if (headUnix === undefined) return
    const today = startOfDay(Math.min(unixNow(deps.clock), headUnix))
    const oldest = today - KEEP_ADDRESS_DAYS * DAY_SECONDS
    const oldestOfWallets = today - KEEP_WALLET_DAYS * DAY_SECONDS
    await ofAddresses.run(oldest)
    // A key's usage goes after its wallet's, never before.
    if (await ofWallets.run(oldestOfWallets)) await ofKeys.run(oldestOfWallets)
    await ofMeters.run(oldest)
  }
}

export function pruneUsage(deps: PruneUsageDeps): Promise<void> {
  return createUsagePruning(deps)()
}

interface Swept {
  readonly table: Sql
  readonly key: Sql
  readonly isDone: Sql
}

interface Place {
  readonly day: number
  readonly key: string
}

class Sweep {
  readonly #engine: Engine
  readonly #swept: Swept
  #place: Place = { day: Number.MIN_SAFE_INTEGER, key: '' }

  constructor(engine: Engine, swept: Swept) {
    this.#engine = engine
    this.#swept = swept
  }

  async run(before: number): Promise<boolean> {
    const pagesMax = PAGES_PER_RUN_MAX[this.#engine.dialect]
    for (let page = 0; page < pagesMax; page += 1) {
      if (this.#place.day >= before) return true
      this.#place = await this.#engine.write((connection) => this.#prunePage(connection, before))
      await nextTurn()
    }
    return this.#place.day >= before
  }

  async #prunePage(connection: Connection, before: number): Promise<Place> {
    const { table, key, isDone } = this.#swept
    const after = sql`(day, ${key}) > (${this.#place.day}, ${this.#place.key})`
    const [row] = await connection.run(sql`
      select day, ${key} as last_key from ${table} where ${after} and day < ${before}
      order by day, ${key} limit 1 offset ${ROWS_PER_PAGE[this.#engine.dialect] - 1}`)
    const end: Place =
      row === undefined
        ? { day: before, key: '' }
        : { day: column.integer(row, 'day'), key: column.text(row, 'last_key') }
    // A single upper bound: given two, SQLite scans every old row.
    await connection.run(sql`
      delete from ${table} where ${after} and (day, ${key}) <= (${end.day}, ${end.key})
        and ${isDone}`)
    return end
  }
}
