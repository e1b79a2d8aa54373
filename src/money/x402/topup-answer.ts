import { Type } from 'typebox'
import { keyOfAccount, readBalances, receivableAccount } from '#accounts/ledger/account.ts'
import { type Hash, showAddress } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { type MicroUsd, toUsd } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { toIso, unixNow } from '#lib/time.ts'
import type { Reads } from '#money/payments/claim-store.ts'
import { type Answer, answer } from '#route/route.ts'
import { column, sql } from '#store/sql.ts'
import type { PaymentPayload } from './offers/payment-payload.ts'
import { type PaymentResponse, paymentResponseHeaders } from './offers/payment-response.ts'
import { refusePending } from './pay-for-call.ts'
import type { Payee } from './settling/x402-payment.ts'
import type { X402Deps } from './x402-deps.ts'

export const Topup = named('Topup', {
  txHash: Type.String(),
  amountUsd: Type.Number(),
  verified: Type.Literal(true),
  message: Type.Literal('verified'),
  apiKeyPublicId: Type.Union([Type.String(), Type.Null()]),
  payerAddress: Type.String(),
  creditedUsd: Type.Number({ description: 'What the payment added to the balance.' }),
  repaidUsd: Type.Number({
    description: 'What repaid a debt: spent balance whose payment a reorg had reversed.',
  }),
  verifiedAt: Type.String({ format: 'date-time' }),
  prepaidBalanceUsd: Type.Union([Type.Number(), Type.Null()], {
    description: 'The new balance; null if another key than the calling one was credited.',
  }),
})

export interface SettledTopup {
  readonly caller: Caller
  readonly payee: Payee
  readonly payload: PaymentPayload
  readonly transaction: Hash
}

/** Answers as the store has it: on the balance, with an earlier prepayment, or pending after a reorg. */
export async function answerSettled(
  deps: Pick<X402Deps, 'engine' | 'payment' | 'clock'>,
  { caller, payee, payload, transaction }: SettledTopup,
): Promise<Answer | Refusal> {
  const { credit, balance } = await deps.engine.snapshot(async (reads) => {
    const credit = await readCredit(reads, deps, payload)
    const account = credit.account ?? ''
    return { credit, balance: (await readBalances(reads, [account])).get(account) ?? 0n }
  })
  const { value: amount, from } = payload.authorization
  const headers = paymentResponseHeaders(deps.payment, { payload, transaction })
  if (credit.status === 'claimed') return { ...refuseClaimed(transaction), headers }
  if (credit.account === undefined) return refusePendingTopup(deps, { payload, transaction })
  const isOwn =
    payee.kind === 'bucket' || (caller.kind === 'keyed' && caller.publicId === payee.publicId)
  const body = {
    txHash: transaction,
    amountUsd: toUsd(amount),
    verified: true,
    message: 'verified',
    apiKeyPublicId: keyOfAccount(credit.account) ?? null,
    payerAddress: showAddress(from),
    creditedUsd: toUsd(amount - credit.repaid),
    repaidUsd: toUsd(credit.repaid),
    verifiedAt: toIso(unixNow(deps.clock)),
    prepaidBalanceUsd: isOwn ? toUsd(balance) : null,
  }
  return answer(200, body, { headers: { ...headers, 'Cache-Control': 'no-store' } })
}

interface FoundCredit {
  readonly status: string | undefined
  readonly account: string | undefined
  readonly repaid: MicroUsd
}

async function readCredit(
  reads: Reads,
  { payment }: Pick<X402Deps, 'payment'>,
  { authorization }: PaymentPayload,
): Promise<FoundCredit> {
  const [row] = await reads.run(sql`
    select payments.status, credits.account, (
        select cast(coalesce(sum(postings.micro_usd), 0) as bigint) from postings
        where postings.entry_id = 'credit:' || credits.id
          and postings.account = ${receivableAccount('')} || credits.owner) as repaid
    from x402_intents as payments left join credits
      on credits.id = payments.credit_id and credits.reversed_unix is null
    where payments.chain_id = ${payment.chain.id} and payments.asset = ${payment.asset}
      and payments.payer = ${authorization.from} and payments.nonce = ${authorization.nonce}`)
  if (row === undefined) return { status: undefined, account: undefined, repaid: 0n }
  return {
    status: column.text(row, 'status'),
    account: column.textOrNull(row, 'account') ?? undefined,
    repaid: column.amount(row, 'repaid'),
  }
}

export function refusePendingTopup(
  { payment }: Pick<X402Deps, 'payment'>,
  { payload, transaction }: Pick<PaymentResponse, 'payload' | 'transaction'>,
): Refusal {
  const response = { payload, transaction, errorReason: 'settlement_pending' } as const
  return { ...refusePending(transaction), headers: paymentResponseHeaders(payment, response) }
}

function refuseClaimed(txHash: Hash): Refusal {
  return refuse(
    'payment_already_used',
    'the transfer succeeded, but a prepayment had already registered its transaction: the amount is on the key of that prepayment, and this balance is unchanged',
    { members: { transaction: txHash } },
  )
}
