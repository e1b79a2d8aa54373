import assert from 'node:assert/strict'
import type { Address } from '#domain/address.ts'
import { bucketAccount, payerAccount, payerBucket } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { chunks } from '#lib/chunks.ts'
import type { Reads } from '#money/payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import { type BucketShare, bucketShares } from './bucket-shares.ts'

const BUCKETS_MAX = 20

const BUCKETS = bucketAccount('%')
const PAYERS = bucketAccount(payerBucket('%'))

export async function accountsToCollect(reads: Reads, wallet: Address): Promise<string[]> {
  const found = await reads.run(sql`
    select distinct account from credits
    where owner = ${wallet} and reversed_unix is null
      and account like ${BUCKETS} and account not like ${PAYERS}
      and not exists (select 1 from x402_collected where credit_id = credits.id)
    order by account limit ${BUCKETS_MAX}`)
  return found.map((row) => column.text(row, 'account'))
}

/** Moves the remainders of its payments on address buckets to its own balance. */
export async function collectCredits(
  connection: Connection,
  deps: { readonly newId: () => string },
  input: { readonly wallet: Address; readonly nowUnix: number },
): Promise<void> {
  for (const account of await accountsToCollect(connection, input.wallet))
    await collectFrom(connection, deps, { ...input, account })
}

const CREDITS_MAX = 500

async function collectFrom(
  connection: Connection,
  deps: { readonly newId: () => string },
  input: { readonly wallet: Address; readonly nowUnix: number; readonly account: string },
): Promise<void> {
  const { wallet, nowUnix, account } = input
  const shares = await ownShares(connection, input)
  const microUsd = shares.reduce((sum, share) => sum + share.microUsd, 0n)
  const id = `collect:${deps.newId()}`
  if (microUsd > 0n) {
    const postings = [
      { account, microUsd: -microUsd },
      { account: payerAccount(wallet), microUsd },
    ]
    const entry = { id, kind: 'move', reference: wallet, createdUnix: nowUnix, postings } as const
    const outcome = await post(connection, entry)
    assert(outcome === 'created', `a collection of a locked balance ended ${outcome}`)
  }
  for (const part of chunks(shares, CREDITS_MAX)) {
    const lines = part.map((share) => [share.creditId, share.microUsd, id])
    await connection.run(sql`
      insert into x402_collected (credit_id, micro_usd, entry_id) values ${rows(lines)}`)
  }
  // The others here are spent.
  await connection.run(sql`
    insert into x402_collected (credit_id, micro_usd, entry_id)
    select id, 0, null from credits
    where account = ${account} and owner = ${wallet} and reversed_unix is null
      and not exists (select 1 from x402_collected where credit_id = credits.id)`)
}

async function ownShares(
  connection: Connection,
  { account, wallet }: { readonly account: string; readonly wallet: Address },
): Promise<BucketShare[]> {
  const balance = await lockBalance(connection, account)
  const own: BucketShare[] = []
  for await (const share of bucketShares(connection, { account, balance }))
    if (share.owner === wallet) own.push(share)
  return own
}
