import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { createMeter } from './meter.ts'
import { anonymous, NOON, PRICE } from './meter-harness.ts'
import { RefundJournal } from './refund-journal.ts'

/**
 * A child process for tests: admits one call, waits for a message, then refunds it. Arguments: the
 * store's URL or file, and the journal's folder.
 */
const [store = '', folder = ''] = process.argv.slice(2)
const engine = store.startsWith('postgres:')
  ? openPostgres({ url: store, schema: 'accounts', silenceMaxMs: 1_000 })
  : openSqlite({ file: store, durability: 'full' })
const name = `process ${process.pid}`
const journal = new RefundJournal({ folder, name, pricePerCall: PRICE })
const meter = createMeter({ engine, clock: () => NOON * 1_000, pricePerCall: PRICE, name, journal })
const admission = await meter.admit(anonymous('192.0.2.1'))
process.send?.(admission.kind)
process.once('message', () => {
  if (admission.kind !== 'admitted') throw new Error('the test has a free call left')
  meter.refund(admission.receipt).then(
    () => process.send?.('refunded'),
    () => process.send?.('refused'),
  )
})
