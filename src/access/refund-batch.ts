import type { MicroUsd } from '#domain/money.ts'
import { giveBackCalls } from '#ledger/spend.ts'
import { groupBy } from '#lib/group-by.ts'
import type { Connection } from '#store/engine.ts'
import type { AdmissionReceipt } from './admission.ts'
import { markRefunded } from './meter-store.ts'
import { giveBackUnits } from './usage-day.ts'

/** Gives back exactly what the receipts name, each once for ever. Rows are taken in the order of admissions. */
export async function refundBatch(
  connection: Connection,
  input: { readonly receipts: readonly AdmissionReceipt[]; readonly pricePerCall: MicroUsd },
): Promise<void> {
  const fresh = await markRefunded(connection, input.receipts)
  for (const { day, name: bucket, receipts } of byDay(fresh, (each) => each.bucket)) {
    const paid = receipts.filter((each) => each.source === 'prepaid').length
    await giveBackUnits(connection, { bucket, day, used: receipts.length - paid, paid })
  }
  const { pricePerCall } = input
  for (const { day, name, receipts } of byDay(fresh, (each) => each.account))
    await giveBackCalls(connection, { account: name, day, calls: receipts.length, pricePerCall })
}

interface DayGroup {
  readonly name: string
  readonly day: number
  readonly receipts: readonly AdmissionReceipt[]
}

function byDay(
  receipts: readonly AdmissionReceipt[],
  nameOf: (receipt: AdmissionReceipt) => string | null,
): DayGroup[] {
  const groups: DayGroup[] = []
  for (const [name, named] of groupBy(receipts, nameOf))
    if (name !== null)
      for (const [day, same] of groupBy(named, (each) => each.day))
        groups.push({ name, day, receipts: same })
  return groups.sort((a, b) => (a.name === b.name ? a.day - b.day : a.name < b.name ? -1 : 1))
}
