import { verifyPayerProof } from '#accounts/keys/message.ts'
import {
  type Check,
  DIFFERENCES_MAX,
  type LedgerDifference,
  queryCheck,
} from '#accounts/ledger/check.ts'
import { receivableAccount } from '#accounts/ledger/ledger.ts'
import { formatDecimal } from '#base/money.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, type Sql, sql } from '#db/sql.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { askContract } from '#index/call-view.ts'
import {
  blockHashAt,
  type DepositScan,
  getPaymentSource,
  isComplete,
  readScan,
  transferFilter,
  UNCREDITED,
} from './prepayments/deposits.ts'

type Note = (line: string) => void

/** Checks of money that the audit makes besides those of the ledger. */
export function moneyChecks(ctx: Context, note: Note): readonly Check[] {
  return [...paymentChecks, canonicalCheck(ctx, note), payersCheck(ctx, note)]
}

/** Prepayment checks that read only the accounts. */
const paymentChecks: readonly Check[] = [
  queryCheck(
    'each credit has its ledger entry, and a reversed one its reversal',
    sql`select credits.id as subject, credits.micro_usd as expected,
        cast(coalesce(sum(-postings.micro_usd), 0) as bigint) as found
      from credits left join postings
        on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
          and postings.account like 'chain_in:%'
      group by credits.id, credits.micro_usd, credits.reversed_unix
      having coalesce(sum(-postings.micro_usd), 0)
        <> case when credits.reversed_unix is null then credits.micro_usd else 0 end`,
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
      group by account having sum(expected) <> sum(found)`,
  ),
  queryCheck(
    'every credit or reversal entry belongs to a credit',
    sql`select journal_entries.id as subject, 1 as expected, 0 as found
      from journal_entries left join credits
        on credits.id = substr(journal_entries.id,
          case when journal_entries.kind = 'credit' then 8 else 10 end)
      where journal_entries.kind in ('credit', 'reversal') and credits.id is null`,
  ),
  queryCheck(
    'a claim says that it held money exactly if it was ever credited',
    sql`select claims.id as subject, claims.was_credited as expected,
        case when count(credits.id) > 0 then 1 else 0 end as found
      from claims left join credits on credits.claim_id = claims.id
      group by claims.id, claims.was_credited
      having claims.was_credited <> case when count(credits.id) > 0 then 1 else 0 end`,
  ),
  // The key is the claimed one, or its successor if it was rotated before the credit.
  queryCheck(
    'a credit of a claim is on a key of the wallet that owns the claimed key',
    sql`select credits.id as subject,
        'a key of ' || coalesce(claimed.wallet, 'nobody') || ' for ' || claims.tx_hash as expected,
        credits.account || ' of ' || coalesce(holder.wallet, 'nobody') || ' for ' || credits.tx_hash
          as found
      from credits join claims on claims.id = credits.claim_id
        left join keys as claimed on claimed.public_id = claims.public_id
        left join keys as holder on holder.public_id = substr(credits.account, 5)
      where claimed.wallet is null or holder.wallet is null or claimed.wallet <> holder.wallet
        or claimed.wallet <> credits.owner or credits.tx_hash <> claims.tx_hash`,
  ),
  // A deposit that is credited again goes back to the keys that its reversal debited.
  queryCheck(
    'a credit and its reversal move money of keys of its wallet only',
    sql`select postings.entry_id as subject, 'an account of ' || credits.owner as expected,
        postings.account as found
      from credits join postings
        on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
          and postings.account not like 'chain_in:%' and postings.account <> credits.account
        left join keys
          on postings.account like 'key:%' and keys.public_id = substr(postings.account, 5)
      where coalesce(keys.wallet, '') <> credits.owner
        and postings.account <> ${receivableAccount('')} || credits.owner`,
  ),
]

export const x402Checks: readonly Check[] = [
  queryCheck(
    'a settled x402 payment has one live credit, of its transaction, its payer and its sum',
    sql`select payments.id as subject,
        'live credit of ' || cast(payments.micro_usd as text) || ' by ' || payments.payer
          || ' in ' || coalesce(payments.tx_hash, 'no transaction') as expected,
        case when credits.id is null then 'none'
          when credits.reversed_unix is not null then 'a reversed one'
          else cast(credits.micro_usd as text) || ' by ' || credits.payer_address
            || ' in ' || credits.tx_hash end as found
      from x402_intents as payments left join credits on credits.id = payments.credit_id
      where payments.status = 'credited' and (credits.id is null
        or credits.reversed_unix is not null or credits.chain_id <> payments.chain_id
        or credits.micro_usd <> payments.micro_usd or credits.payer_address <> payments.payer
        or payments.tx_hash is null or credits.tx_hash <> payments.tx_hash
        or credits.claim_id is not null)`,
  ),
  queryCheck(
    'every live credit without a claim is of one settled x402 payment',
    sql`select credits.id as subject, 1 as expected, count(payments.id) as found
      from credits left join x402_intents as payments
        on payments.credit_id = credits.id and payments.status = 'credited'
      where credits.claim_id is null and credits.reversed_unix is null
      group by credits.id having count(payments.id) <> 1`,
  ),
  queryCheck(
    'an x402 payment is credited where it said',
    sql`select payments.id as subject, payments.payee_kind || ' ' || payments.payee as expected,
        credits.account as found
      from x402_intents as payments join credits on credits.id = payments.credit_id
      where (payments.payee_kind = 'bucket' and credits.account <> 'bucket:' || payments.payee)
        or (payments.payee_kind = 'key' and (payments.payee_wallet is null
          or credits.owner <> payments.payee_wallet or not exists (
            select 1 from keys
            where 'key:' || keys.public_id = credits.account
              and keys.wallet = payments.payee_wallet)))`,
  ),
]

/** Finds deposits by log, because editing `payTo` shifts positions, which count transfers to it only. */
function canonicalCheck(ctx: Context, note: Note): Check {
  return {
    name: 'each live credit is one canonical deposit of the same sum and sender',
    async run(connection) {
      const { payment } = ctx.ecosystem
      const scan = payment === null ? undefined : await readScan(connection, payment)
      const live = await connection.run(sql`
        select credits.id, credits.chain_id, credits.block_number, credits.block_hash,
          credits.payer_address, credits.micro_usd, deposits.sender, deposits.amount,
          placed.sender as placed_sender, placed.amount as placed_amount
        from credits left join deposits on deposits.chain_id = credits.chain_id
            and deposits.tx_hash = credits.tx_hash and deposits.block_hash = credits.block_hash
            and deposits.log_index = credits.log_index
          left join deposits as placed on placed.chain_id = credits.chain_id
            and placed.tx_hash = credits.tx_hash
            and placed.position_in_tx = credits.position_in_tx
        where credits.reversed_unix is null order by credits.id`)
      const pending: string[] = []
      const uncovered: string[] = []
      const differences: LedgerDifference[] = []
      for (const row of live) {
        const subject = column.text(row, 'id')
        if (column.integer(row, 'chain_id') !== payment?.chain.id) uncovered.push(subject)
        else if (scan === undefined || !isRead(row, payment, scan)) pending.push(subject)
        else if (await isUncovered(ctx, row)) uncovered.push(subject)
        else if (!isSame(row)) differences.push({ subject, detail: describeCredit(row) })
      }
      noteCredits(note, pending, 'cannot be checked before history is read')
      noteCredits(note, uncovered, 'belong to payments that the ecosystem file no longer covers')
      return differences.slice(0, DIFFERENCES_MAX)
    },
  }
}

/** Blocks outside the range that was read cannot be judged. */
function isRead(row: Row, { chain }: Payment, scan: DepositScan): boolean {
  const blockNumber = column.integer(row, 'block_number')
  return blockNumber >= chain.startBlock && blockNumber <= scan.number && isComplete(scan)
}

/** Whether its block stands although no deposit is read there any more. */
async function isUncovered(ctx: Context, row: Row): Promise<boolean> {
  if (row.sender !== null || isSame(row, 'placed_')) return false
  return (await blockHashAt(ctx, column.integer(row, 'block_number'))) === row.block_hash
}

function isSame(row: Row, of = ''): boolean {
  if (row[`${of}sender`] !== row.payer_address) return false
  return column.bigint(row, `${of}amount`) === column.amount(row, 'micro_usd')
}

function describeCredit(row: Row): string {
  const credited = `credited ${column.amount(row, 'micro_usd')} by ${row.payer_address}`
  if (row.sender === null) return `${credited}, but no canonical log shows it`
  return `${credited}, but the log has ${column.bigint(row, 'amount')} by ${row.sender}`
}

const NAMED_MAX = 50

function noteCredits(note: Note, ids: readonly string[], what: string): void {
  if (ids.length > 0) note(`${ids.length} credits ${what}: ${ids.slice(0, NAMED_MAX).join(', ')}`)
}

function payersCheck(ctx: Context, note: Note): Check {
  return {
    name: 'each credit of a claim was paid by the owner of its key or a payer who signed',
    async run(connection) {
      const paidByOthers = await connection.run(sql`
        select credits.id, credits.chain_id, credits.tx_hash, credits.payer_address,
          claims.public_id, claim_proofs.message, claim_proofs.signature, claim_proofs.by_contract
        from credits join claims on claims.id = credits.claim_id
          left join keys on keys.public_id = claims.public_id
          left join claim_proofs on claim_proofs.claim_id = claims.id
            and claim_proofs.payer_address = credits.payer_address
        where coalesce(keys.wallet, '') <> credits.payer_address order by credits.id`)
      const differences: LedgerDifference[] = []
      const byContract: string[] = []
      for (const row of paidByOthers) {
        const [subject, payer] = [column.text(row, 'id'), column.hex(row, 'payer_address')]
        if (column.integerOrNull(row, 'by_contract') === 1) byContract.push(subject)
        if (!(await isProven(ctx, row)))
          differences.push({ subject, detail: `paid by ${payer} without a valid proof` })
      }
      noteCredits(note, byContract, 'rest on proofs of contract wallets that cannot be asked again')
      return differences.slice(0, DIFFERENCES_MAX)
    },
  }
}

async function isProven(ctx: Context, row: Row): Promise<boolean> {
  const message = column.textOrNull(row, 'message')
  if (message === null) return false
  const refusal = await verifyPayerProof(ctx, {
    payerAddress: column.hex(row, 'payer_address'),
    chainId: column.integer(row, 'chain_id'),
    txHash: column.hex(row, 'tx_hash'),
    publicId: column.text(row, 'public_id'),
    message,
    signature: column.text(row, 'signature'),
    byContract: column.flag(row, 'by_contract'),
    freshness: 'ignored',
  })
  return refusal === undefined
}

/** Sums the deposits of the payment chain that no credit holds. */
export function readSuspense({ ecosystem }: Context, connection: Connection) {
  const chainId = ecosystem.payment?.chain.id ?? null
  return sumDeposits(connection, sql`chain_id = ${chainId} and ${UNCREDITED}`)
}

async function sumDeposits(connection: Connection, which: Sql) {
  const found = await connection.run(sql`select amount from deposits where ${which}`)
  const microUsd = found.reduce((sum, row) => sum + column.bigint(row, 'amount'), 0n)
  return { deposits: found.length, microUsd }
}

/** Checks that the balance of `payTo` before the first block, plus deposits, minus sent, is its balance where the scan stands. */
export function balanceCheck(ctx: Context, note: Note): Check {
  return {
    name: 'deposits less what was sent are what payTo holds',
    async run(connection) {
      const { payment } = ctx.ecosystem
      const scan = payment === null ? undefined : await readScan(connection, payment)
      if (payment === null || scan === undefined) return []
      const { symbol, chain, decimals } = payment
      if (!isComplete(scan)) {
        note(`${symbol}: older deposits are still being read, so payTo was not compared`)
        return []
      }
      try {
        const source = getPaymentSource(ctx)
        const before = await readHeld(source, payment, chain.startBlock - 1)
        const sent = await sumSent(source, payment, scan.number)
        const held = await readHeld(source, payment, scan.number)
        const { microUsd: received } = await sumDeposits(
          connection,
          sql`chain_id = ${chain.id} and block_number >= ${chain.startBlock}`,
        )
        const explained = before + received - sent
        const show = (amount: bigint) => formatDecimal(amount, decimals)
        const subject = `${symbol} on ${chain.name}`
        if (explained === held) {
          note(`${subject}: deposits of ${show(received)} explain what payTo holds`)
          return []
        }
        const detail = `payTo holds ${show(held)}, but ${show(before)} and deposits of ${show(received)} less ${show(sent)} sent are ${show(explained)}`
        return [{ subject, detail }]
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        note(
          `${symbol}: no endpoint has the balances of payTo before block ${chain.startBlock} and now, so deposits were not compared with them: ${error.message}`,
        )
        return []
      }
    },
  }
}

/** Sums the balances of all `payTo` addresses at the end of a block, in base units. */
async function readHeld(source: ChainSource, { asset, payTo }: Payment, block: number) {
  if (block < 0) return 0n
  let held = 0n
  for (const address of new Set(payTo.map((each) => each.address)))
    held += await askContract(source, asset, address, block)
  return held
}

async function sumSent(source: ChainSource, payment: Payment, to: number): Promise<bigint> {
  const { chain } = payment
  const filter = transferFilter(payment, 'from')
  let sent = 0n
  for await (const { logs } of source.history({ filter, from: chain.startBlock, to }))
    for (const { data } of logs) sent += BigInt(data)
  return sent
}
