import { type Check, DIFFERENCES_MAX, type LedgerDifference } from '#accounts/ledger/check.ts'
import type { Deposit } from '#domain/deposit.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { liveCreditsOf } from '#money/payments/credit.ts'
import type { DepositIndex } from '#money/payments/deposit.ts'
import { depositPages } from '#money/payments/suspense.ts'
import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { COLUMNS, toPayment } from './settling/payment-store.ts'
import { EARLIER_BLOCKS, type X402Payment } from './settling/x402-payment.ts'

/** Ended payments are looked at less and less often, but at least this often. */
const LATE_SECONDS = 3_600

/** The check compares so many of the newest, because it holds them in memory. */
const PAYMENTS_MAX = 10_000

/**
 * Uncredited money in the exact amount of a payer's abandoned payment; an ordinary transfer may
 * match too.
 */
export function depositCheck(deps: {
  readonly deposits: DepositIndex
  readonly clock: Clock
}): Check {
  return {
    name: 'no abandoned x402 payment has moved money without a credit',
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
    where status in ('abandoned', 'failed')
      and (look_unix is null or look_unix < ${nowUnix - LATE_SECONDS})
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
