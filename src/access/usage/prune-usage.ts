import { type Clock, unixNow } from '#lib/clock.ts'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

/** Long enough to answer a question about last month's calls; anonymous callers leave a row each. */
const KEEP_ADDRESS_DAYS = 35

/** Whatever a wallet may ask the history of its usage for, and some days more. */
const KEEP_WALLET_DAYS = 100

/**
 * Forgets refunds, processes and counters of old days, of which anonymous callers leave one per
 * address. Days with paid calls stay, because the audit holds them against the ledger, and with them
 * the counters of their keys; so do refunds whose money an entry moved. A clock that is ahead forgets
 * nothing of today: no day is over before the chain has passed it, and while the index has no block
 * nothing is forgotten.
 */
export async function pruneUsage(deps: {
  readonly engine: Engine
  readonly clock: Clock
  /** Unix seconds of the newest block that the index has. */
  readonly headUnix: () => Promise<number | undefined>
}): Promise<void> {
  const headUnix = await deps.headUnix()
  if (headUnix === undefined) return
  const today = startOfDay(Math.min(unixNow(deps.clock), headUnix))
  const oldest = today - KEEP_ADDRESS_DAYS * DAY_SECONDS
  const oldestOfWallets = today - KEEP_WALLET_DAYS * DAY_SECONDS
  await deps.engine.write(async (connection) => {
    await connection.run(sql`
      delete from usage_days where day < ${oldest} and paid = 0
        and (day < ${oldestOfWallets} or bucket not like 'wallet:%')`)
    await connection.run(sql`
      delete from key_days where day < ${oldestOfWallets} and not exists (
        select 1 from usage_days where usage_days.day = key_days.day
          and usage_days.bucket = coalesce(
            (select 'wallet:' || wallet from keys where keys.public_id = key_days.public_id),
            key_days.public_id))`)
    await connection.run(sql`
      delete from refunds where day < ${oldest} and not exists (
        select 1 from journal_entries where journal_entries.id = 'move:refund:' || refunds.receipt)`)
    await connection.run(sql`delete from meters where day < ${oldest}`)
  })
}
