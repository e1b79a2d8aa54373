import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { bucketAccount, payerAccount, payerBucket } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { assert } from '#lib/assert.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'
import type { Reads } from '../settling/intent-store.ts'

/** Credits of one bucket looked at at once; those before them are taken for spent. */
const CREDITS_MAX = 500

/** Buckets collected from at once; a wallet that has paid from more comes back. */
const BUCKETS_MAX = 20

const BUCKETS = bucketAccount('%')
const PAYERS = bucketAccount(payerBucket('%'))

/** The accounts of address buckets that a wallet has paid for and not collected from yet. */
export async function accountsToCollect(reads: Reads, wallet: Address): Promise<string[]> {
  const found = await reads.run(sql`
    select distinct account from credits
    where owner = ${wallet} and reversed_unix is null
      and account like ${BUCKETS} and account not like ${PAYERS}
      and id not in (select credit_id from x402_collected)
    order by account limit ${BUCKETS_MAX}`)
  return found.map((row) => column.text(row, 'account'))
}

/**
 * Moves to a wallet's own balance what is left of its payments on address buckets. A bucket spends
 * its oldest payment first, whoever made it: what is left is of the newest.
 */
export async function collectCredits(
  connection: Connection,
  deps: { readonly newId: () => string },
  input: { readonly wallet: Address; readonly nowUnix: number },
): Promise<void> {
  for (const account of await accountsToCollect(connection, input.wallet))
    await collectFrom(connection, deps, { ...input, account })
}

interface Share {
  readonly creditId: string
  readonly microUsd: MicroUsd
}

async function collectFrom(
  connection: Connection,
  deps: { readonly newId: () => string },
  input: { readonly wallet: Address; readonly nowUnix: number; readonly account: string },
): Promise<void> {
  const { wallet, nowUnix, account } = input
  const balance = await lockBalance(connection, account)
  const shares = await sharesOf(connection, { wallet, account, balance })
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
  if (shares.length === 0) return
  const lines = shares.map((share) => [
    share.creditId,
    share.microUsd,
    share.microUsd > 0n ? id : null,
  ])
  await connection.run(sql`
    insert into x402_collected (credit_id, micro_usd, entry_id) values ${rows(lines)}`)
}

/** What a balance still holds of a wallet's payments, the newest of anybody's first. */
async function sharesOf(
  connection: Connection,
  input: { readonly wallet: Address; readonly account: string; readonly balance: MicroUsd },
): Promise<Share[]> {
  const found = await connection.run(sql`
    select credits.id, credits.owner, cast(coalesce(sum(postings.micro_usd), 0) as bigint) as paid
    from credits left join postings
      on postings.entry_id = 'credit:' || credits.id and postings.account = credits.account
    where credits.account = ${input.account} and credits.reversed_unix is null
      and credits.id not in (select credit_id from x402_collected)
    group by credits.id, credits.owner, credits.created_unix
    order by credits.created_unix desc, credits.id desc limit ${CREDITS_MAX}`)
  let left = input.balance
  const shares: Share[] = []
  for (const row of found) {
    const paid = column.amount(row, 'paid')
    const microUsd = lesser(paid, left)
    left -= microUsd
    if (column.text(row, 'owner') === input.wallet)
      shares.push({ creditId: column.text(row, 'id'), microUsd })
  }
  return shares
}

function lesser(a: MicroUsd, b: MicroUsd): MicroUsd {
  if (a < b) return a
  return b
}
