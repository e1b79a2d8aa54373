import assert from 'node:assert/strict'
import { listPublicIds, lockSuccessor } from '#accounts/keys/key-store.ts'
import {
  chainInAccount,
  isPrepaid,
  keyAccount,
  keyOfAccount,
  lockBalances,
  type Posting,
  post,
  readBalances,
  readPostings,
  receivableAccount,
} from '#accounts/ledger/ledger.ts'
import type { Address, Hash } from '#base/address.ts'
import { lesser, type MicroUsd } from '#base/money.ts'
import type { Connection } from '#db/engine.ts'
import { column, defineCodec, join, type RowOf, sql } from '#db/sql.ts'
import type { Deposit, Reads } from './deposits.ts'

const credits = defineCodec({
  id: column.text,
  account: column.text,
  owner: column.hex,
  claimId: column.textOrNull,
  chainId: column.integer,
  txHash: column.hex,
  positionInTx: column.integer,
  blockNumber: column.integer,
  blockHash: column.hex,
  logIndex: column.integer,
  payerAddress: column.hex,
  microUsd: column.amount,
  createdUnix: column.integer,
  reversedUnix: column.integerOrNull,
})

export type Credit = RowOf<typeof credits>

/** Keeps sums of hundreds of such credits below 2^53. */
export const CREDIT_MAX: MicroUsd = 10n ** 13n

type NewCredit = Pick<Credit, 'id' | 'account' | 'owner' | 'claimId'> & {
  readonly deposit: Deposit
  readonly nowUnix: number
}

/**
 * Credits a deposit at most once while its block is on the chain. Repays debts first; what a reorg reversed for this
 * deposit goes back to the accounts it was taken from. Returns false if already credited.
 */
export async function creditDeposit(connection: Connection, input: NewCredit): Promise<boolean> {
  const { id, deposit, account, owner, claimId, nowUnix } = input
  const created = await connection.run(sql`
    insert into credits (id, account, owner, claim_id, chain_id, tx_hash, position_in_tx,
      block_number, block_hash, log_index, payer_address, micro_usd, created_unix, reversed_unix, settled)
    values (${id}, ${account}, ${owner}, ${claimId}, ${deposit.chainId},
      ${deposit.txHash}, ${deposit.positionInTx}, ${deposit.blockNumber}, ${deposit.blockHash}, ${deposit.logIndex},
      ${deposit.sender}, ${deposit.amount}, ${nowUnix}, ${null}, 0)
    on conflict do nothing returning id`)
  if (created.length === 0) return false
  const receivable = receivableAccount(owner)
  const chainIn = chainInAccount(deposit.chainId)
  const taken = await takenByReorg(connection, deposit, owner)
  const accounts = new Set([chainIn, receivable, account, ...taken.map((each) => each.account)])
  const locked = await lockBalances(connection, [...accounts])
  const debt = -(locked.get(receivable) ?? 0n)
  const repaid = lesser(debt, deposit.amount)
  const isNew = await post(connection, {
    id: `credit:${id}`,
    kind: 'credit',
    reference: `${deposit.chainId}:${deposit.txHash}:${deposit.positionInTx}`,
    createdUnix: nowUnix,
    postings: [
      { account: chainIn, microUsd: -deposit.amount },
      ...share(deposit.amount - repaid, taken, account),
      { account: receivable, microUsd: repaid },
    ].filter((posting) => posting.microUsd !== 0n),
  })
  assert(isNew, `credit ${id} was posted before`)
  return true
}

/** Returns what the last reversal debited, last first, by each key's newest rotation. Marks it as restored, so that it returns only once. */
async function takenByReorg(tx: Connection, deposit: Deposit, owner: Address): Promise<Posting[]> {
  const [earlier] = await tx.run(sql`
    update credits set restored = 1
    where chain_id = ${deposit.chainId} and tx_hash = ${deposit.txHash}
      and position_in_tx = ${deposit.positionInTx} and owner = ${owner}
      and reversed_unix is not null and restored = 0
    returning id`)
  if (earlier === undefined) return []
  const postings = await readPostings(tx, reversalId(column.text(earlier, 'id')))
  const taken: Posting[] = []
  for (const { account, microUsd } of postings.toReversed()) {
    if (!isPrepaid(account)) continue
    const publicId = keyOfAccount(account)
    const successor =
      publicId === undefined ? account : keyAccount(await lockSuccessor(tx, publicId))
    taken.push({ account: successor, microUsd: -microUsd })
  }
  return taken
}

function share(sum: MicroUsd, taken: readonly Posting[], rest: string): Posting[] {
  let left = sum
  const given = taken.map(({ account, microUsd }) => {
    const part = lesser(microUsd, left)
    left -= part
    return { account, microUsd: part }
  })
  return [...given, { account: rest, microUsd: left }]
}

/**
 * Debits the credited account, then the wallet's keys, since the money may have moved; the rest becomes a debt.
 * Returns false if already reversed.
 */
export async function reverseCredit(tx: Connection, credit: Credit, nowUnix: number) {
  const reversed = await tx.run(sql`
    update credits set reversed_unix = ${nowUnix}
    where id = ${credit.id} and reversed_unix is null returning id`)
  if (reversed.length === 0) return false
  const receivable = receivableAccount(credit.owner)
  const chainIn = chainInAccount(credit.chainId)
  const accounts = await listAccounts(tx, credit)
  const locked = await lockBalances(tx, [chainIn, receivable, ...accounts])
  let owed = credit.microUsd
  const postings = [{ account: chainIn, microUsd: credit.microUsd }]
  for (const account of accounts) {
    const taken = lesser(locked.get(account) ?? 0n, owed)
    owed -= taken
    postings.push({ account, microUsd: -taken })
  }
  postings.push({ account: receivable, microUsd: -owed })
  const isNew = await post(tx, {
    id: reversalId(credit.id),
    kind: 'reversal',
    reference: credit.id,
    createdUnix: nowUnix,
    postings: postings.filter((posting) => posting.microUsd !== 0n),
  })
  assert(isNew, `the reversal of ${credit.id} was posted before`)
  return true
}

function reversalId(creditId: string): string {
  return `reversal:${creditId}`
}

async function listAccounts(connection: Connection, credit: Credit): Promise<string[]> {
  const keysOfOwner = await listPublicIds(connection, credit.owner)
  const balances = await readBalances(connection, keysOfOwner.map(keyAccount))
  const holding = [...balances].filter(([, balance]) => balance > 0n).map(([account]) => account)
  return [...new Set([credit.account, ...holding.sort()])]
}

export async function listLiveCredits(reads: Reads, txHash: Hash): Promise<Credit[]> {
  const found = await reads.run(sql`
    select ${credits.columns} from credits
    where tx_hash = ${txHash} and reversed_unix is null
    order by chain_id, tx_hash, position_in_tx, created_unix, id`)
  return found.map(credits.read)
}

export async function unsettledCredits(reads: Reads, chainId: number): Promise<Credit[]> {
  const found = await reads.run(sql`
    select ${credits.columns} from credits where chain_id = ${chainId} and reversed_unix is null and settled = 0
    order by block_number, id`)
  return found.map(credits.read)
}

/** Marks credits whose blocks are old enough to be permanent. */
export async function settleCredits(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(sql`update credits set settled = 1 where id in (${join(ids)})`)
}

export async function readReceivables(connection: Connection) {
  const prefix = receivableAccount('')
  const found = await connection.run(sql`
    select account, micro_usd from balances
    where account like ${`${prefix}%`} and micro_usd < 0 order by micro_usd, account`)
  return found.map((row) => ({
    wallet: column.text(row, 'account').slice(prefix.length),
    microUsd: -column.amount(row, 'micro_usd'),
  }))
}

/** Includes the transaction, because some chains number logs within it. */
export function logName({ chainId, blockHash, txHash, logIndex }: Deposit | Credit): string {
  return `${chainId}:${blockHash}:${txHash}:${logIndex}`
}
