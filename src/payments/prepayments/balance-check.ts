import type { Check, LedgerDifference } from '#accounts/ledger/check.ts'
import { formatDecimal } from '#base/money.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { askContract } from '#index/token-contract.ts'
import { type DepositScan, isComplete, readScan, toTopic } from './deposits.ts'
import { getPaymentSource } from './scan-deposits.ts'

/** Checks that the balance of `payTo` before the first block, plus deposits, minus sent, is its balance where the scan stands. */
export function balanceCheck(ctx: Context, note: (line: string) => void): Check {
  return {
    name: 'deposits less what was sent are what payTo holds',
    async run(connection) {
      const { payment } = ctx.ecosystem
      const scan = payment === null ? undefined : await readScan(connection, payment)
      if (payment === null || scan === undefined) return []
      if (!isComplete(scan)) {
        note(`${payment.symbol}: older deposits are still being read, so payTo was not compared`)
        return []
      }
      try {
        return await compareBalance(connection, { ctx, payment, scan, note })
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        note(
          `${payment.symbol}: no endpoint has the balances of payTo before block ${payment.chain.startBlock} and now, so deposits were not compared with them: ${error.message}`,
        )
        return []
      }
    },
  }
}

async function compareBalance(
  connection: Connection,
  input: {
    readonly ctx: Context
    readonly payment: Payment
    readonly scan: DepositScan
    readonly note: (line: string) => void
  },
): Promise<LedgerDifference[]> {
  const { ctx, payment, scan, note } = input
  const source = getPaymentSource(ctx)
  const before = await readHeld(source, payment, payment.chain.startBlock - 1)
  const sent = await sumSent(source, payment, scan.number)
  const held = await readHeld(source, payment, scan.number)
  const received = await sumReceived(connection, payment)
  const show = (amount: bigint) => formatDecimal(amount, payment.decimals)
  const explained = before + received - sent
  const subject = `${payment.symbol} on ${payment.chain.name}`
  if (explained !== held)
    return [
      {
        subject,
        detail: `payTo holds ${show(held)}, but ${show(before)} and deposits of ${show(received)} less ${show(sent)} sent are ${show(explained)}`,
      },
    ]
  note(`${subject}: deposits of ${show(received)} explain what payTo holds`)
  return []
}

/** Sums the balances of all `payTo` addresses at the end of a block, in base units. */
async function readHeld(
  source: Pick<ChainSource, 'call'>,
  { asset, payTo }: Payment,
  block: number,
): Promise<bigint> {
  if (block < 0) return 0n
  let held = 0n
  for (const address of new Set(payTo.map((each) => each.address)))
    held += await askContract(source, asset, address, block)
  return held
}

const PAGE = 5_000

async function sumReceived(connection: Connection, { chain }: Payment): Promise<bigint> {
  let received = 0n
  let after = { txHash: '', position: 0 }
  for (;;) {
    const page = await connection.run(sql`
      select tx_hash, position_in_tx, amount from deposits
      where chain_id = ${chain.id} and block_number >= ${chain.startBlock}
        and (tx_hash, position_in_tx) > (${after.txHash}, ${after.position})
      order by tx_hash, position_in_tx limit ${PAGE}`)
    for (const row of page) received += column.bigint(row, 'amount')
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return received
    after = {
      txHash: column.text(last, 'tx_hash'),
      position: column.integer(last, 'position_in_tx'),
    }
  }
}

async function sumSent(
  source: Pick<ChainSource, 'history'>,
  { asset, payTo, chain }: Payment,
  to: number,
): Promise<bigint> {
  const filter = {
    addresses: [asset],
    topics: [[TRANSFER_TOPIC], payTo.map(({ address }) => toTopic(address))],
    pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
  }
  let sent = 0n
  for await (const { logs } of source.history({ filter, from: chain.startBlock, to }))
    for (const { data } of logs) sent += BigInt(data)
  return sent
}
