import { type Context, reportError } from '#context.ts'
import { DAY_SECONDS, unixNow } from '#lib/time.ts'
import {
  duePayments,
  failPayment,
  OPEN_SECONDS,
  REVERTED,
  setDue,
  type X402Payment,
} from './payment.ts'
import { creditPayment, sendAgain } from './settle-payment.ts'
import { isOver, judgePayment, MARGIN_SECONDS, readSettlement } from './settlement.ts'
import type { Settling } from './settling.ts'

const PAYMENTS_PER_PASS_MAX = 100

/**
 * Finishes what requests left open: lost answers, killed processes, reorgs, and authorizations that
 * others send after we gave up. Returns the number of payments credited.
 */
export async function finishPayments(ctx: Context, settling: Settling): Promise<number> {
  const nowUnix = unixNow(ctx.clock)
  const reads = { run: ctx.accounts.read }
  const due = await duePayments(reads, { nowUnix, limit: PAYMENTS_PER_PASS_MAX })
  const ended = await Promise.all(
    due.map((payment) =>
      finishOne(ctx, settling, payment).catch((error: unknown) => {
        reportError(ctx, error)
        return false
      }),
    ),
  )
  return ended.filter(Boolean).length
}

async function finishOne(ctx: Context, settling: Settling, payment: X402Payment): Promise<boolean> {
  const { id, status, authorization } = payment
  const nowUnix = unixNow(ctx.clock)
  const endUnix = Number(authorization.validBefore) + MARGIN_SECONDS
  await ctx.accounts.write((tx) => setDue(tx, { id, dueUnix: nowUnix + OPEN_SECONDS }))
  const verdict = await judgePayment(settling, payment)
  if (verdict.kind === 'paid') {
    const paid = { payment, deposit: verdict.deposit, isServed: false }
    const credited = await ctx.accounts.write((tx) => creditPayment(tx, ctx, paid))
    return credited !== undefined
  }
  // A node that hides a use may show it later, but not forever.
  const isEnded = isOver(verdict) || nowUnix >= endUnix + DAY_SECONDS
  const hasFailed = status === 'open' && (isEnded || verdict.kind === 'reverted')
  if (hasFailed) {
    const isOurLoss = await costUsGas(settling, payment)
    const reason = isOurLoss ? REVERTED : 'invalid_transaction_state'
    // Anyone can still send the authorization until it expires.
    const lastUnix = isEnded ? null : Math.max(endUnix, nowUnix + OPEN_SECONDS)
    await ctx.accounts.write((tx) => failPayment(tx, { id, reason, dueUnix: lastUnix }))
  } else if (isEnded) await ctx.accounts.write((tx) => setDue(tx, { id, dueUnix: null }))
  if (status === 'open' && verdict.kind === 'open') await sendAgain(ctx, settling, payment)
  return false
}

/** A payer may also cancel or use its nonce while our transaction is under way. */
async function costUsGas(settling: Settling, payment: X402Payment): Promise<boolean> {
  if (settling.wallet === undefined || payment.txHash === null) return false
  const settlement = await readSettlement(settling, payment, payment.txHash)
  return settlement.kind === 'unpaid' && settlement.sender === settling.wallet
}
