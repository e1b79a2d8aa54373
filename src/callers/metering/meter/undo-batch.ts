import assert from 'node:assert/strict'
import { lockSuccessor } from '#callers/keys/key-store.ts'
import type { MicroUsd } from '#domain/money.ts'
import { keyAccount, keyOfAccount } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { refundCalls } from '#ledger/spend.ts'
import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { Charge, UnknownCommit } from './admission.ts'
import { endUnknownBatch, type UsageDay } from './meter-statements.ts'

/**
 * Undoes the charges of a batch, if it was committed: once, on the day of the charge, and to the newest
 * rotation of a key. Locks rows in the order of admissions.
 */
export async function undoBatch(
  connection: Connection,
  input: {
    readonly commit: UnknownCommit
    readonly pricePerCall: MicroUsd
    readonly nowUnix: number
  },
): Promise<void> {
  const { commit, pricePerCall, nowUnix } = input
  const { charges, day } = commit
  if (!commit.stands && !(await endUnknownBatch(connection, commit))) return
  for (const { name: bucket, own } of grouped(charges, (each) => each.bucket)) {
    const paid = own.filter((each) => each.source === 'prepaid').length
    await undoUnits(connection, { bucket, day, used: own.length - paid, paid })
  }
  for (const { name: publicId, own } of grouped(charges, (each) => each.countedKey))
    await undoKeyUnits(connection, { publicId, day, units: own.length })
  const paid = grouped(charges, (each) => each.account)
  const successors = await lockSuccessors(connection, new Set(paid.map((each) => each.name)))
  for (const { name: account, own } of paid) {
    await refundCalls(connection, { account, day, calls: own.length, pricePerCall })
    const [first] = own
    const successor = successors.get(account)
    if (first === undefined || successor === undefined) continue
    const microUsd = BigInt(own.length) * pricePerCall
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
    assert(outcome === 'created', `a charge that goes back to a rotation ended ${outcome}`)
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

interface Group {
  readonly name: string
  readonly own: readonly Charge[]
}

/** Sorted by name, which prevents deadlocks. */
function grouped(charges: readonly Charge[], nameOf: (charge: Charge) => string | null): Group[] {
  const groups: Group[] = []
  for (const [name, own] of Map.groupBy(charges, nameOf))
    if (name !== null) groups.push({ name, own })
  return groups.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The guard lets `used` fall only by what `returned` rises by. */
async function undoUnits(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number } & UsageDay,
): Promise<void> {
  await connection.run(sql`
    update usage_days set used = used - ${input.used}, returned = returned + ${input.used},
      paid = paid - ${input.paid}
    where day = ${input.day} and bucket = ${input.bucket}`)
}

async function undoKeyUnits(
  connection: Connection,
  input: { readonly publicId: string; readonly day: number; readonly units: number },
): Promise<void> {
  const lowered = await connection.run(sql`
    update key_days set used = used - ${input.units}
    where day = ${input.day} and public_id = ${input.publicId} returning used`)
  assert(lowered.length === 1, 'calls to undo were never counted')
}
