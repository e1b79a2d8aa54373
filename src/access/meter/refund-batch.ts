import assert from 'node:assert/strict'
import type { MicroUsd } from '#domain/money.ts'
import { keyAccount, keyOfAccount } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { refundCalls } from '#ledger/spend.ts'
import { groupBy } from '#lib/group-by.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import { lockSuccessor } from '../keys/key-store.ts'
import type { AdmissionReceipt } from './admission.ts'
import type { UsageDay } from './meter-statements.ts'

/**
 * Each receipt once for ever; a rotated key's money goes to its newest rotation. Locks rows in the
 * order of admissions.
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
    await refundUnits(connection, { bucket, day, used: receipts.length - paid, paid })
  }
  for (const { day, name: publicId, receipts } of byDay(fresh, (each) => each.countedKey))
    await refundKeyUnits(connection, { publicId, day, units: receipts.length })
  const { pricePerCall, nowUnix } = input
  const paid = byDay(fresh, (each) => each.account)
  const successors = await lockSuccessors(connection, new Set(paid.map((each) => each.name)))
  for (const { day, name: account, receipts } of paid) {
    await refundCalls(connection, { account, day, calls: receipts.length, pricePerCall })
    const [first] = receipts
    const successor = successors.get(account)
    if (first === undefined || successor === undefined) continue
    const microUsd = BigInt(receipts.length) * pricePerCall
    const outcome = await post(connection, {
      id: `move:refund:${first.id}`,
      kind: 'move',
      reference: first.id,
      createdUnix: nowUnix,
      postings: [
        { account, microUsd: -microUsd },
        { account: successor, microUsd },
      ],
    })
    assert(outcome === 'created', `a refund that goes on to a rotation ended ${outcome}`)
  }
}

async function lockSuccessors(
  connection: Connection,
  accounts: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const successors = new Map<string, string>()
  for (const account of accounts) {
    const publicId = keyOfAccount(account)
    if (publicId === undefined) continue
    const successor = await lockSuccessor(connection, publicId)
    if (successor !== publicId) successors.set(account, keyAccount(successor))
  }
  if (successors.size > 0)
    for (const account of [...new Set([...accounts, ...successors.values()])].sort())
      await lockBalance(connection, account)
  return successors
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

async function markRefunded(
  connection: Connection,
  receipts: readonly AdmissionReceipt[],
): Promise<AdmissionReceipt[]> {
  if (receipts.length === 0) return []
  const sorted = receipts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const marked = await connection.run(sql`
    insert into refunds (day, receipt) values ${rows(sorted.map((each) => [each.day, each.id]))}
    on conflict (day, receipt) do nothing returning receipt`)
  const fresh = new Set(marked.map((row) => column.text(row, 'receipt')))
  return sorted.filter((each) => fresh.delete(each.id))
}

/** Offset by a count that only rises. */
async function refundUnits(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number } & UsageDay,
): Promise<void> {
  await connection.run(sql`
    update usage_days set used = used - ${input.used}, returned = returned + ${input.used},
      paid = paid - ${input.paid}
    where day = ${input.day} and bucket = ${input.bucket}`)
}

async function refundKeyUnits(
  connection: Connection,
  input: { readonly publicId: string; readonly day: number; readonly units: number },
): Promise<void> {
  const lowered = await connection.run(sql`
    update key_days set used = used - ${input.units}
    where day = ${input.day} and public_id = ${input.publicId} returning used`)
  assert(lowered.length === 1, 'a refund of calls that were never counted')
}
