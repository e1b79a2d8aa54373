import { type LedgerSums, sumLedger } from '#accounts/ledger/sum-ledger.ts'
import type { GaugeReading } from '#api/metrics.ts'
import type { Context } from '#context.ts'

/** The sums read every posting, so scrapes share a result. */
const FRESH_MS = 300_000

/** A scrape never waits: it shows the last finished sums and starts the next. */
export function ledgerGauges({ accounts, clock }: Context): readonly GaugeReading[] {
  let known: { readonly sums: LedgerSums; readonly atMs: number } | undefined
  let isSumming = false
  const refresh = async () => {
    const isFresh = known !== undefined && Math.abs(clock() - known.atMs) < FRESH_MS
    if (isFresh || isSumming) return
    isSumming = true
    try {
      const atMs = clock()
      known = { sums: await sumLedger(accounts), atMs }
    } catch {
    } finally {
      isSumming = false
    }
  }
  const gauge = (
    name: string,
    help: string,
    pick: (last: NonNullable<typeof known>) => number,
  ) => ({
    name: `sexton_ledger_${name}`,
    help,
    async read() {
      void refresh()
      return known === undefined ? {} : pick(known)
    },
  })
  return [
    gauge('difference_micro_usd', 'Sum of all postings: 0, or the ledger is broken', ({ sums }) =>
      Number(sums.postings),
    ),
    gauge('negative_balances', 'Prepaid balances below zero', ({ sums }) => sums.negative),
    gauge('checked_age_seconds', 'Since the ledger was last summed', ({ atMs }) =>
      Math.max(0, (clock() - atMs) / 1_000),
    ),
  ]
}
