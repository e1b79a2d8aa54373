import { showAddress } from '#domain/address.ts'
import { keyOfAccount } from '#ledger/account.ts'
import { readGrants } from '#ledger/grant.ts'
import { chunks } from '#lib/chunks.ts'
import { toDate, toIso } from '#lib/time.ts'
import { type Credit, creditOfEntry, readCredits } from '#money/payments/credit.ts'
import type { Reads } from '#money/payments/reads.ts'
import { join, sql } from '#store/sql.ts'
import { type AccountEntry, parseSpend, readOtherSides } from './read-entries.ts'
import type { Movement } from './statement-shape.ts'

const IDS_PER_QUERY = 500

export async function showMovements(
  reads: Reads,
  { account, entries }: { readonly account: string; readonly entries: readonly AccountEntry[] },
): Promise<readonly Movement[]> {
  const idsOf = (kind: AccountEntry['kind']) =>
    entries.filter((each) => each.kind === kind).map((each) => each.id)
  const credits = await readById(
    entries.flatMap((each) => creditOfEntry(each.id) ?? []),
    (ids) => readCredits(reads, sql`id in (${join(ids)})`),
  )
  const grants = await readById(
    idsOf('grant').map((id) => id.slice(GRANT.length)),
    (ids) => readGrants(reads, ids),
  )
  const others = await readOtherSides(reads, { account, ids: idsOf('move') })
  return entries.toSorted(inOrder).map((entry) => {
    const { id, kind } = entry
    if (kind === 'calls') return { ...toSpend(entry), ...booked(entry) }
    if (kind === 'move') return { kind, ...booked(entry), ...toMove(entry, others.get(id) ?? '') }
    if (kind === 'grant')
      return { kind, ...booked(entry), detail: grants.get(id.slice(GRANT.length))?.reason ?? '' }
    const credit = credits.get(creditOfEntry(id) ?? '')
    const way = credit !== undefined && credit.claimId === null ? 'x402_payment' : 'deposit'
    return {
      kind: kind === 'reversal' ? kind : way,
      ...booked(entry),
      ...(credit !== undefined && toTransfer(credit)),
    }
  })
}

const GRANT = 'grant:'

async function readById<T extends { readonly id: string }>(
  ids: readonly string[],
  read: (ids: readonly string[]) => Promise<readonly T[]>,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>()
  for (const part of chunks([...new Set(ids)], IDS_PER_QUERY))
    for (const each of await read(part)) found.set(each.id, each)
  return found
}

function inOrder(a: AccountEntry, b: AccountEntry): number {
  return a.day - b.day || a.createdUnix - b.createdUnix || (a.id < b.id ? -1 : 1)
}

function booked({ id, day, createdUnix, microUsd }: AccountEntry) {
  return {
    id,
    date: toDate(day),
    bookedAt: toIso(createdUnix),
    amountMicroUsd: String(microUsd),
  }
}

function toSpend({ id, reference, microUsd }: AccountEntry) {
  const { date, price } = parseSpend(reference) ?? {}
  if (date === undefined || price === undefined) throw new Error(`the entry ${id} names no day`)
  const isRefund = microUsd > 0n
  return {
    kind: isRefund ? 'refund' : 'charges',
    calls: Number((isRefund ? microUsd : -microUsd) / price),
    priceMicroUsd: String(price),
    ...(id !== reference && { ofDate: date }),
  } as const
}

function toMove({ id }: AccountEntry, other: string) {
  const otherPublicId = keyOfAccount(other)
  const cause = /^move:(rotate|refund):/.exec(id)?.[1]
  return {
    ...(otherPublicId !== undefined && { otherPublicId }),
    detail: cause === 'rotate' ? 'rotation' : (cause ?? 'owner'),
  }
}

function toTransfer(credit: Credit) {
  return {
    chainId: credit.chainId,
    txHash: credit.txHash,
    blockNumber: credit.blockNumber,
    logIndex: credit.logIndex,
    positionInTx: credit.positionInTx,
    payerAddress: showAddress(credit.payerAddress),
    depositMicroUsd: String(credit.microUsd),
  }
}
