import type { MicroUsd } from '#domain/money.ts'
import { keyAccount, keyOfAccount } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { giveBackCalls } from '#ledger/spend.ts'
import { assert } from '#lib/assert.ts'
import { groupBy } from '#lib/group-by.ts'
import type { Connection } from '#store/engine.ts'
import { lockHeir } from '../keys/key-store.ts'
import type { AdmissionReceipt } from './admission.ts'
import { giveBackKeyUnits } from './key-day.ts'
import { markRefunded } from './meter-store.ts'
import { giveBackUnits } from './usage-day.ts'

/**
 * Gives back exactly what the receipts name, each once for ever; the money of a key that was rotated
 * goes on to the newest of its rotations. Rows are taken in the order of admissions.
 */
export async function refundBatch(
  connection: Connection,
  input: {
    readonly receipts: readonly AdmissionReceipt[]
    readonly pricePerCall: MicroUsd
    readonly nowUnix: number
  },
): Promise<void> {
  const fresh = await markRefunded(connection, input.receipts)
  for (const { day, name: bucket, receipts } of byDay(fresh, (each) => each.bucket)) {
    const paid = receipts.filter((each) => each.source === 'prepaid').length
    await giveBackUnits(connection, { bucket, day, used: receipts.length - paid, paid })
  }
  for (const { day, name: publicId, receipts } of byDay(fresh, (each) => each.countedKey))
    await giveBackKeyUnits(connection, { publicId, day, units: receipts.length })
  const { pricePerCall, nowUnix } = input
  const paid = byDay(fresh, (each) => each.account)
  const heirs = await lockHeirs(connection, new Set(paid.map((each) => each.name)))
  for (const { day, name: account, receipts } of paid) {
    await giveBackCalls(connection, { account, day, calls: receipts.length, pricePerCall })
    const [first] = receipts
    const heir = heirs.get(account)
    if (first === undefined || heir === undefined) continue
    const microUsd = BigInt(receipts.length) * pricePerCall
    const outcome = await post(connection, {
      id: `move:refund:${first.id}`,
      kind: 'move',
      reference: first.id,
      createdUnix: nowUnix,
      postings: [
        { account, microUsd: -microUsd },
        { account: heir, microUsd },
      ],
    })
    assert(outcome === 'created', `a refund that goes on to a rotation ended ${outcome}`)
  }
}

/** The accounts of newest rotations by the accounts of rotated keys, all of them locked. */
async function lockHeirs(
  connection: Connection,
  accounts: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const heirs = new Map<string, string>()
  for (const account of accounts) {
    const publicId = keyOfAccount(account)
    if (publicId === undefined) continue
    const heir = await lockHeir(connection, publicId)
    if (heir !== publicId) heirs.set(account, keyAccount(heir))
  }
  if (heirs.size > 0)
    for (const account of [...new Set([...accounts, ...heirs.values()])].sort())
      await lockBalance(connection, account)
  return heirs
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
