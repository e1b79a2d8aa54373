import {
  heldAt,
  heldBeforeHistory,
  sumReceived,
  sumSent,
} from '#chains/datasets/deposits/proof/balance-of-pay-to.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { formatDecimal } from '#lib/decimal.ts'
import type { StoreState } from '#store/stream-table.ts'
import type { AuditDeps } from './audit-deps.ts'

/**
 * Balance before the first block + deposits − sent = balance now. Returns the difference in words.
 */
export async function provePayments(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note'>,
  stored: StoreState,
  status: IndexStatus,
): Promise<string | undefined> {
  const { payment } = deps.ecosystem
  if (payment === null) return undefined
  const chain = status.chains.find((each) => each.chain.id === payment.chain.id)
  if (chain === undefined) return undefined
  const source = deps.sourceOf(payment.chain)
  const before = await heldBeforeHistory(source, payment)
  if (before === undefined) {
    deps.note(
      `${payment.symbol}: no endpoint has the balance before block ${payment.chain.startBlock}, so deposits were not compared with it`,
    )
    return undefined
  }
  const range = { from: before.block + 1, to: chain.blockNumber }
  const received = await sumReceived(stored, payment.chain.id, range)
  const sent = await sumSent(source, payment, range)
  const held = await heldAt(source, payment, range.to)
  const show = (amount: bigint) => formatDecimal(amount, payment.decimals)
  const explained = before.amount + received - sent
  if (explained !== held.amount)
    return `${payment.symbol} on ${payment.chain.name}: payTo holds ${show(held.amount)}, but ${show(before.amount)} and deposits of ${show(received)} less ${show(sent)} sent are ${show(explained)}`
  deps.note(
    `${payment.symbol} on ${payment.chain.name}: deposits of ${show(received)} explain what payTo holds`,
  )
  return undefined
}
