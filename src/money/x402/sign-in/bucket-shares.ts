import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { bucketAccount, payerBucket } from '#ledger/account.ts'
import { lesser } from '#lib/lesser.ts'
import type { Credit } from '#money/payments/credit.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface BucketShare {
  readonly creditId: string
  readonly owner: Address
  readonly microUsd: MicroUsd
}

const PAGE_CREDITS = 500

const UNCOLLECTED = sql`not exists (
  select 1 from x402_collected where x402_collected.credit_id = credits.id)`

/** What a credit added, less the part that repaid a debt. */
const BROUGHT = sql`(
  select cast(coalesce(sum(postings.micro_usd), 0) as bigint) from postings
  where postings.entry_id = 'credit:' || credits.id and postings.account = credits.account)`

/**
 * Returns shares newest first. Buckets spend their oldest payment first, so the remainder belongs to the newest.
 */
export async function* bucketShares(
  connection: Connection,
  input: { readonly account: string; readonly balance: MicroUsd },
): AsyncIterable<BucketShare> {
  let left = input.balance
  let before = sql`1 = 1`
  while (left > 0n) {
    const page = await connection.run(sql`
      select credits.id, credits.owner, credits.created_unix, ${BROUGHT} as brought from credits
      where credits.account = ${input.account} and credits.reversed_unix is null
        and ${UNCOLLECTED} and ${before}
      order by credits.created_unix desc, credits.id desc limit ${PAGE_CREDITS}`)
    for (const row of page) {
      const microUsd = lesser(column.amount(row, 'brought'), left)
      left -= microUsd
      if (microUsd > 0n)
        yield { creditId: column.text(row, 'id'), owner: column.hex(row, 'owner'), microUsd }
    }
    const last = page.at(-1)
    if (last === undefined) return
    const [createdUnix, id] = [column.integer(last, 'created_unix'), column.text(last, 'id')]
    before = sql`(credits.created_unix < ${createdUnix}
      or (credits.created_unix = ${createdUnix} and credits.id < ${id}))`
  }
}

const SHARED = bucketAccount('')
const OF_ONE_WALLET = bucketAccount(payerBucket(''))

/** Returns a key's or wallet's whole balance; on an address bucket, the credit's remainder. */
export async function shareOf(
  connection: Connection,
  input: { readonly credit: Pick<Credit, 'id' | 'account'>; readonly balance: MicroUsd },
): Promise<MicroUsd> {
  const { credit, balance } = input
  const { id, account } = credit
  if (!account.startsWith(SHARED) || account.startsWith(OF_ONE_WALLET)) return balance
  const [own] = await connection.run(sql`
    select credits.created_unix, ${BROUGHT} as brought from credits
    where credits.id = ${id} and ${UNCOLLECTED}`)
  if (own === undefined) return 0n
  const createdUnix = column.integer(own, 'created_unix')
  const [newer] = await connection.run(sql`
    select cast(coalesce(sum(brought), 0) as bigint) as brought from (
      select ${BROUGHT} as brought from credits
      where credits.account = ${account} and credits.reversed_unix is null and ${UNCOLLECTED}
        and (credits.created_unix > ${createdUnix}
          or (credits.created_unix = ${createdUnix} and credits.id > ${id}))) as page`)
  const left = balance - (newer === undefined ? 0n : column.amount(newer, 'brought'))
  return left > 0n ? lesser(column.amount(own, 'brought'), left) : 0n
}
