import type { Address, Hash } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { chainInAccount, receivableAccount } from '#ledger/account.ts'
import { lockBalance } from '#ledger/balance.ts'
import { post } from '#ledger/post.ts'
import { assert } from '#lib/assert.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import type { Reads } from './claim-store.ts'
import type { Deposit } from './deposit.ts'

/** Money of one canonical log on one prepaid account. */
export interface Credit {
  readonly id: string
  readonly account: string
  readonly claimId: string | null
  readonly chainId: number
  readonly txHash: Hash
  readonly positionInTx: number
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly logIndex: number
  readonly payerAddress: Address
  readonly microUsd: MicroUsd
}

/** A sum that no call needs and whose sums would not be exact as a JSON number: 1,000,000,000 USD. */
export const CREDIT_MAX: MicroUsd = 10n ** 15n

const COLUMNS = sql`id, account, claim_id, chain_id, tx_hash, position_in_tx, block_number,
  block_hash, log_index, payer_address, micro_usd`

/**
 * Credits a deposit to a prepaid account, at most once while its block is on the chain; what the
 * account owes from a reorg is repaid first. False when the deposit has a live credit already.
 */
export async function creditDeposit(
  connection: Connection,
  input: {
    readonly id: string
    readonly deposit: Deposit
    readonly account: string
    readonly claimId: string | null
    readonly nowUnix: number
  },
): Promise<boolean> {
  const { id, deposit, account, nowUnix } = input
  const created = await connection.run(sql`
    insert into credits (id, account, claim_id, chain_id, tx_hash, position_in_tx, block_number,
      block_hash, log_index, payer_address, micro_usd, created_unix, reversed_unix, settled)
    values (${id}, ${account}, ${input.claimId}, ${deposit.chainId}, ${deposit.txHash},
      ${deposit.positionInTx}, ${deposit.blockNumber}, ${deposit.blockHash}, ${deposit.logIndex},
      ${deposit.from}, ${deposit.amount}, ${nowUnix}, ${null}, 0)
    on conflict do nothing returning id`)
  if (created.length === 0) return false
  const { debt } = await lockAccounts(connection, { chainId: deposit.chainId, account })
  const repaid = lesser(debt, deposit.amount)
  const outcome = await post(connection, {
    id: `credit:${id}`,
    kind: 'credit',
    reference: `${deposit.chainId}:${deposit.txHash}:${deposit.positionInTx}`,
    createdUnix: nowUnix,
    postings: [
      { account: chainInAccount(deposit.chainId), microUsd: -deposit.amount },
      { account, microUsd: deposit.amount - repaid },
      { account: receivableAccount(account), microUsd: repaid },
    ].filter((posting) => posting.microUsd !== 0n),
  })
  assert(outcome === 'created', `a new credit ended ${outcome}`)
  return true
}

/**
 * Takes a credit back whose block left the chain: what is left of it from the account, the rest
 * becomes a debt of the account, which its next credit repays. False when it was reversed before.
 */
export async function reverseCredit(
  connection: Connection,
  input: { readonly credit: Credit; readonly nowUnix: number },
): Promise<boolean> {
  const { credit, nowUnix } = input
  const reversed = await connection.run(sql`
    update credits set reversed_unix = ${nowUnix}
    where id = ${credit.id} and reversed_unix is null returning id`)
  if (reversed.length === 0) return false
  const { balance } = await lockAccounts(connection, credit)
  const taken = lesser(balance, credit.microUsd)
  const outcome = await post(connection, {
    id: `reversal:${credit.id}`,
    kind: 'reversal',
    reference: credit.id,
    createdUnix: nowUnix,
    postings: [
      { account: chainInAccount(credit.chainId), microUsd: credit.microUsd },
      { account: credit.account, microUsd: -taken },
      { account: receivableAccount(credit.account), microUsd: taken - credit.microUsd },
    ].filter((posting) => posting.microUsd !== 0n),
  })
  assert(outcome === 'created', `a reversal of a locked balance ended ${outcome}`)
  return true
}

/** In the order of the names, as `post` takes them, so that nobody waits in a circle. */
async function lockAccounts(
  connection: Connection,
  input: { readonly chainId: number; readonly account: string },
): Promise<{ balance: MicroUsd; debt: MicroUsd }> {
  const receivable = receivableAccount(input.account)
  const locked = new Map<string, MicroUsd>()
  for (const account of [chainInAccount(input.chainId), input.account, receivable].sort())
    locked.set(account, await lockBalance(connection, account))
  return { balance: locked.get(input.account) ?? 0n, debt: -(locked.get(receivable) ?? 0n) }
}

function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a
  return b
}

/** Live credits of some transactions. */
export async function liveCreditsOf(reads: Reads, txHashes: readonly Hash[]): Promise<Credit[]> {
  if (txHashes.length === 0) return []
  const found = await reads.run(sql`
    select ${COLUMNS} from credits
    where tx_hash in (${join(txHashes)}) and reversed_unix is null
    order by chain_id, tx_hash, position_in_tx`)
  return found.map(toCredit)
}

/** Live credits that a reorg could still take, oldest block first. */
export async function unsettledCredits(reads: Reads): Promise<Credit[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from credits where reversed_unix is null and settled = 0
    order by block_number, id`)
  return found.map(toCredit)
}

/** Credits of blocks this old were canonical when looked at; they are not looked at again. */
export async function settleCredits(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(sql`update credits set settled = 1 where id in (${join(ids)})`)
}

/** Every live credit, for the audit. */
export async function liveCredits(reads: Reads): Promise<Credit[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from credits where reversed_unix is null
    order by chain_id, tx_hash, position_in_tx`)
  return found.map(toCredit)
}

function toCredit(row: Row): Credit {
  return {
    id: column.text(row, 'id'),
    account: column.text(row, 'account'),
    claimId: column.textOrNull(row, 'claim_id'),
    chainId: column.integer(row, 'chain_id'),
    txHash: column.hex(row, 'tx_hash'),
    positionInTx: column.integer(row, 'position_in_tx'),
    blockNumber: column.integer(row, 'block_number'),
    blockHash: column.hex(row, 'block_hash'),
    logIndex: column.integer(row, 'log_index'),
    payerAddress: column.hex(row, 'payer_address'),
    microUsd: column.amount(row, 'micro_usd'),
  }
}
