import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, unixNow } from '#lib/clock.ts'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/** Long enough to answer a question about last month's calls; anonymous callers leave a row each. */
const KEEP_ADDRESS_DAYS = 35

/** Whatever a wallet may ask the history of its usage for, and some days more. */
const KEEP_WALLET_DAYS = 100

/** Rows looked at in one transaction: on SQLite it runs on the thread that answers. */
const ROWS_PER_PAGE = 50

/** Of one run: a million rows go in twenty minutes, with room for calls between the pages. */
const PAGES_PER_RUN_MAX = 1_000

export interface PruneUsageDeps {
  readonly engine: Engine
  readonly clock: Clock
  /** Unix seconds of the newest block that the index has. */
  readonly headUnix: () => Promise<number | undefined>
}

/**
 * Forgets refunds, processes and counters of old days, of which anonymous callers leave one per
 * address. Days with paid calls stay, because the audit holds them against the ledger, and with them
 * the counters of their keys; so do refunds whose money an entry moved. A clock that is ahead forgets
 * nothing of today: no day is over before the chain has passed it, and while the index has no block
 * nothing is forgotten. Each run goes on where the last one ended.
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
  const ofRefunds = new Sweep(engine, {
    table: sql`refunds`,
    key: sql`receipt`,
    isDone: sql`not exists (
      select 1 from journal_entries where journal_entries.id = 'move:refund:' || refunds.receipt)`,
  })
  // Each payment of a call leaves one.
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
    // What a key has used goes with the day of its wallet, never before.
    if (await ofWallets.run(oldestOfWallets)) await ofKeys.run(oldestOfWallets)
    // The audit holds refunds against what was given back since the oldest batch that is known.
    if (await ofMeters.run(oldest)) await ofRefunds.run(oldest)
  }
}

/** One run from the beginning. */
export function pruneUsage(deps: PruneUsageDeps): Promise<void> {
  return createUsagePruning(deps)()
}

interface Swept {
  readonly table: Sql
  /** With the day it is unique, and there is an index on both. */
  readonly key: Sql
  /** Of a row that is old enough. */
  readonly isDone: Sql
}

interface Place {
  readonly day: number
  readonly key: string
}

/** Goes through the old rows of a table once, in pages, by day and key. */
class Sweep {
  readonly #engine: Engine
  readonly #swept: Swept
  /** Everything up to here was looked at. */
  #place: Place = { day: Number.MIN_SAFE_INTEGER, key: '' }

  constructor(engine: Engine, swept: Swept) {
    this.#engine = engine
    this.#swept = swept
  }

  /** Whether all days before one have been looked at. */
  async run(before: number): Promise<boolean> {
    for (let page = 0; page < PAGES_PER_RUN_MAX; page += 1) {
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
      order by day, ${key} limit 1 offset ${ROWS_PER_PAGE - 1}`)
    const end: Place =
      row === undefined
        ? { day: before, key: '' }
        : { day: column.integer(row, 'day'), key: column.text(row, 'last_key') }
    // One upper bound: of two SQLite takes the wrong one, and looks at all that is old.
    await connection.run(sql`
      delete from ${table} where ${after} and (day, ${key}) <= (${end.day}, ${end.key})
        and ${isDone}`)
    return end
  }
}
