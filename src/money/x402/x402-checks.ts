import {
  type Check,
  DIFFERENCES_MAX,
  type LedgerDifference,
  queryCheck,
} from '#accounts/ledger/check.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Deposit } from '#domain/deposit.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { liveCreditsOf } from '#money/payments/credit.ts'
import type { DepositIndex } from '#money/payments/deposit.ts'
import { depositPages } from '#money/payments/suspense.ts'
import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { COLUMNS, EARLIER_BLOCKS, toPayment, type X402Payment } from './payment.ts'
import { readSettlement } from './settlement.ts'
import type { SettlingRpc } from './settling-rpc.ts'

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
        or credits.claim_id is not null)
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every live credit without a claim is of one settled x402 payment',
    sql`select credits.id as subject, 1 as expected, count(payments.id) as found
      from credits left join x402_intents as payments
        on payments.credit_id = credits.id and payments.status = 'credited'
      where credits.claim_id is null and credits.reversed_unix is null
      group by credits.id having count(payments.id) <> 1
      order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every reversed credit without a claim was of an x402 payment',
    sql`select credits.id as subject, 1 as expected, 0 as found
      from credits
      where credits.claim_id is null and credits.reversed_unix is not null
        and not exists (
          select 1 from x402_intents as payments
          where payments.chain_id = credits.chain_id and payments.payer = credits.payer_address
            and payments.micro_usd = credits.micro_usd)
      order by credits.id limit ${DIFFERENCES_MAX}`,
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
              and keys.wallet = payments.payee_wallet)))
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an x402 payment that is not settled holds no live credit',
    sql`select payments.id as subject, 0 as expected, 1 as found
      from x402_intents as payments join credits on credits.id = payments.credit_id
      where payments.status <> 'credited' and credits.reversed_unix is null
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an x402 payment is in a state that its past allows, with the transaction that belongs to it',
    sql`select id || ' ' || status as subject, 1 as expected, 0 as found from x402_intents
      where (status = 'credited' and (tx_hash is null or credit_id is null))
        or (served = 1 and credit_id is null)
      order by id limit ${DIFFERENCES_MAX}`,
  ),
]

/** The job looks at failed payments until nobody can send them any more. */
const LATE_SECONDS = 3_600

/** The check compares so many of the newest, because it holds them in memory. */
const PAYMENTS_MAX = 10_000

/** Uncredited money of a failed payment. An ordinary transfer of the same sum is only unclaimed. */
export function depositCheck(deps: {
  readonly rpc: SettlingRpc
  readonly payment: Payment
  readonly deposits: DepositIndex
  readonly clock: Clock
}): Check {
  return {
    name: 'no failed x402 payment has moved money without a credit',
    async run(connection) {
      const payments = await givenUp(connection, unixNow(deps.clock))
      const found: LedgerDifference[] = []
      if (payments.length === 0) return found
      for await (const page of depositPages(deps.deposits)) {
        const pairs = page.flatMap((deposit) => {
          const payment = payments.find((each) => fits(each, deposit))
          return payment === undefined ? [] : [{ deposit, payment }]
        })
        const hashes = pairs.map(({ deposit }) => deposit.txHash)
        const credited = await liveCreditsOf(connection, hashes)
        for (const { deposit, payment } of pairs) {
          const { txHash, positionInTx, amount } = deposit
          if (credited.some((each) => each.txHash === txHash && each.positionInTx === positionInTx))
            continue
          const settlement = await readSettlement(deps, payment, txHash)
          if (settlement.kind !== 'paid') continue
          const detail = `expected a credit of ${amount} in ${txHash}, found none`
          found.push({ subject: `${payment.id} ${payment.status}`, detail })
        }
        if (found.length >= DIFFERENCES_MAX) break
      }
      return found.slice(0, DIFFERENCES_MAX)
    },
  }
}

async function givenUp(connection: Connection, nowUnix: number): Promise<X402Payment[]> {
  const rows = await connection.run(sql`
    select ${COLUMNS} from x402_intents
    where status = 'failed' and (due_unix is null or due_unix < ${nowUnix - LATE_SECONDS})
    order by created_unix desc, id desc limit ${PAYMENTS_MAX}`)
  return rows.map(toPayment)
}

function fits({ authorization, chainId, fromBlock }: X402Payment, deposit: Deposit): boolean {
  const { from, to, value, validBefore } = authorization
  return (
    deposit.chainId === chainId &&
    deposit.from === from &&
    deposit.to === to &&
    deposit.amount === value &&
    deposit.blockNumber > fromBlock - EARLIER_BLOCKS &&
    BigInt(deposit.timestampUnix) < validBefore
  )
}
