import type { Address } from '#domain/address.ts'
import { keyAccount, keyOfAccount, receivableAccount } from '#ledger/account.ts'
import { type Check, DIFFERENCES_MAX, type Difference, queryCheck } from '#ledger/check.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { type Credit, liveCredits } from './credit.ts'
import type { CanonicalDeposits, Deposit, DepositIndex } from './deposit.ts'
import type { VerifyPayerProof } from './payments-deps.ts'

export interface PaymentsCheckDeps {
  readonly deposits: DepositIndex
  readonly verifyPayerProof: VerifyPayerProof
  readonly walletOf: WalletOf
}

/** The wallet that owns a key, as the keys themselves say. */
export type WalletOf = (connection: Connection, publicId: string) => Promise<Address | undefined>

/** What prepayments promise, as queries for the audit. */
export function paymentsChecks(deps: PaymentsCheckDeps): readonly Check[] {
  return [
    ...LEDGER_CHECKS,
    {
      name: 'each live credit is one canonical deposit of the same sum and sender',
      run: (connection) => checkCanonical(connection, deps.deposits),
    },
    {
      name: 'each credit of a claim was paid by the owner of its key or a payer who signed',
      run: (connection) => checkPayers(connection, deps),
    },
    {
      name: 'a credit of a claim is on a key of the wallet that owns the claimed key',
      run: (connection) => checkAccounts(connection, deps.walletOf),
    },
    {
      name: 'a credit and its reversal move money of keys of its wallet only',
      run: (connection) => checkMoved(connection, deps.walletOf),
    },
  ]
}

const LEDGER_CHECKS: readonly Check[] = [
  queryCheck(
    'each credit has its ledger entry, and a reversed one its reversal',
    sql`select credits.id as subject, credits.micro_usd as expected,
        cast(coalesce(sum(-postings.micro_usd), 0) as bigint) as found
      from credits left join postings
        on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
          and postings.account like 'chain_in:%'
      group by credits.id, credits.micro_usd, credits.reversed_unix
      having coalesce(sum(-postings.micro_usd), 0)
        <> case when credits.reversed_unix is null then credits.micro_usd else 0 end
      order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'what came in from the chains is what live credits hold',
    sql`select account as subject, cast(sum(expected) as bigint) as expected,
        cast(sum(found) as bigint) as found
      from (
        select 'chain_in:' || cast(chain_id as text) as account, micro_usd as expected, 0 as found
        from credits where reversed_unix is null
        union all
        select account, 0, -micro_usd from postings where account like 'chain_in:%'
      ) as parts
      group by account having sum(expected) <> sum(found)
      order by account limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a verified claim shows the sum of its live credits, and no other claim has any',
    sql`select claims.id as subject, coalesce(claims.credited_micro_usd, 0) as expected,
        cast(coalesce(sum(credits.micro_usd), 0) as bigint) as found
      from claims left join credits
        on credits.claim_id = claims.id and credits.reversed_unix is null
      group by claims.id, claims.status, claims.credited_micro_usd
      having coalesce(claims.credited_micro_usd, 0) <> coalesce(sum(credits.micro_usd), 0)
        or (claims.status = 'verified' and count(credits.id) = 0)
      order by claims.id limit ${DIFFERENCES_MAX}`,
  ),
]

/** Deposits that nobody has claimed: money in suspense, which is no error. */
export async function readSuspense(
  connection: Connection,
  deposits: DepositIndex,
): Promise<{ readonly deposits: number; readonly microUsd: bigint }> {
  const known = await deposits.canonical({ sinceBlock: 0 })
  const credited = new Set((await liveCredits(connection)).map(logName))
  const unclaimed = (known?.deposits ?? []).filter((deposit) => !credited.has(logName(deposit)))
  return {
    deposits: unclaimed.length,
    microUsd: unclaimed.reduce((sum, deposit) => sum + deposit.amount, 0n),
  }
}

async function checkCanonical(
  connection: Connection,
  deposits: DepositIndex,
): Promise<Difference[]> {
  const known = await deposits.canonical({ sinceBlock: 0 })
  if (known === undefined) return []
  const byLog = new Map(known.deposits.map((deposit) => [logName(deposit), deposit]))
  return (await liveCredits(connection))
    .filter((credit) => isInReach(credit, known))
    .map((credit) => compare(credit, byLog.get(logName(credit))))
    .filter((difference) => difference !== undefined)
    .slice(0, DIFFERENCES_MAX)
}

/** Of blocks that the index does not hold in full nothing can be said. */
function isInReach(credit: Credit, known: CanonicalDeposits): boolean {
  return credit.blockNumber >= known.completeFromBlock && credit.blockNumber <= known.head.number
}

function compare(credit: Credit, deposit: Deposit | undefined): Difference | undefined {
  if (deposit === undefined)
    return { subject: credit.id, detail: `no canonical log ${logName(credit)}` }
  if (deposit.amount !== credit.microUsd)
    return {
      subject: credit.id,
      detail: `credited ${credit.microUsd}, the log says ${deposit.amount}`,
    }
  if (deposit.from !== credit.payerAddress)
    return {
      subject: credit.id,
      detail: `credited to a payment of ${credit.payerAddress}, the log says ${deposit.from}`,
    }
  return undefined
}

/** Usually the very key that is claimed for; another one when it was rotated before the credit. */
async function checkAccounts(connection: Connection, walletOf: WalletOf): Promise<Difference[]> {
  const found = await connection.run(sql`
    select credits.id, credits.account, credits.owner, credits.tx_hash,
      claims.public_id, claims.tx_hash as claimed_tx
    from credits join claims on claims.id = credits.claim_id order by credits.id`)
  const differences: Difference[] = []
  for (const row of found) {
    const account = column.text(row, 'account')
    const wallet = await walletOf(connection, column.text(row, 'public_id'))
    const holds = await walletOf(connection, account.slice(keyAccount('').length))
    const agrees =
      wallet !== undefined &&
      wallet === holds &&
      wallet === column.hex(row, 'owner') &&
      column.hex(row, 'tx_hash') === column.hex(row, 'claimed_tx')
    if (!agrees)
      differences.push({
        subject: column.text(row, 'id'),
        detail: `on ${account} of ${holds}, claimed for a key of ${wallet}`,
      })
  }
  return differences.slice(0, DIFFERENCES_MAX)
}

/** A deposit that is credited anew returns to the keys that its reversal took it from. */
async function checkMoved(connection: Connection, walletOf: WalletOf): Promise<Difference[]> {
  const found = await connection.run(sql`
    select distinct credits.owner, postings.account, postings.entry_id
    from credits join postings
      on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
        and postings.account not like 'chain_in:%' and postings.account <> credits.account
    order by postings.entry_id, postings.account`)
  const differences: Difference[] = []
  for (const row of found) {
    const [owner, account] = [column.text(row, 'owner'), column.text(row, 'account')]
    const publicId = keyOfAccount(account)
    const isOwn =
      publicId === undefined
        ? account === receivableAccount(owner)
        : (await walletOf(connection, publicId)) === owner
    if (!isOwn)
      differences.push({
        subject: column.text(row, 'entry_id'),
        detail: `moves money of ${account}, which is not of ${owner}`,
      })
  }
  return differences.slice(0, DIFFERENCES_MAX)
}

async function checkPayers(connection: Connection, deps: PaymentsCheckDeps): Promise<Difference[]> {
  const paid = await connection.run(sql`
    select credits.id, credits.chain_id, credits.tx_hash, credits.payer_address, claims.public_id,
      claim_proofs.message, claim_proofs.signature
    from credits join claims on claims.id = credits.claim_id
      left join claim_proofs on claim_proofs.claim_id = claims.id
        and claim_proofs.payer_address = credits.payer_address
    order by credits.id`)
  const differences: Difference[] = []
  for (const row of paid) {
    const payerAddress: Address = column.hex(row, 'payer_address')
    const publicId = column.text(row, 'public_id')
    if ((await deps.walletOf(connection, publicId)) === payerAddress) continue
    const message = column.textOrNull(row, 'message')
    const refused =
      message === null ||
      (await deps.verifyPayerProof({
        payerAddress,
        chainId: column.integer(row, 'chain_id'),
        txHash: column.hex(row, 'tx_hash'),
        publicId,
        message,
        signature: column.text(row, 'signature'),
        freshness: 'ignored',
      })) !== undefined
    if (refused)
      differences.push({
        subject: column.text(row, 'id'),
        detail: `paid by ${payerAddress} without a proof that holds`,
      })
  }
  return differences.slice(0, DIFFERENCES_MAX)
}

function logName(log: Pick<Deposit, 'chainId' | 'blockHash' | 'logIndex'>): string {
  return `${log.chainId}:${log.blockHash}:${log.logIndex}`
}
