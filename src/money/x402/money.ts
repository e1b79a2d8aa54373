import { randomUUID } from 'node:crypto'
import { verifyPayerProof } from '#accounts/keys/message.ts'
import { createFailureGuard } from '#accounts/metering/abuse-guard.ts'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { oncePerContext, reportError } from '#context.ts'
import type { PayerProof } from '#domain/payer-proof.ts'
import type { Clock } from '#lib/time.ts'
import { ContractProofs } from '#money/payments/contract-proofs.ts'
import { Notifier } from '#money/payments/notifier.ts'
import type { PaymentsDeps } from '#money/payments/payments-deps.ts'
import { settlesPayment } from './payment.ts'
import { openSettlingRpc } from './settling-rpc.ts'

/** Undefined without payments. */
export const moneyOf = oncePerContext((ctx): PaymentsDeps | undefined => {
  const { ecosystem, clock } = ctx
  const { payment } = ecosystem
  if (payment === null) return undefined
  const common = { engine: ctx.accounts, clock, newId: randomUUID }
  const deposits: PaymentsDeps['deposits'] = { canonical: (query) => readDeposits(ctx, query) }
  const readHead = async () => (await deposits.canonical({ txHashes: [] }))?.head.number
  return {
    ...common,
    chainId: payment.chain.id,
    confirmations: payment.confirmations,
    verifyPayerProof: (proof: PayerProof) => verifyPayerProof(ctx, proof),
    contractProofs: new ContractProofs(walletNodes(payment), clock, proofGuard(clock)),
    deposits,
    isReserved: settlesPayment,
    notifier: new Notifier(readHead, (error) => reportError(ctx, error)),
  }
})

/** Bounds how many unsigned proofs of contract wallets one address may post. */
function proofGuard(clock: Clock) {
  const message = 'too many proofs were not signed; post one again in a minute'
  return createFailureGuard({ clock, limit: { burst: 5, refillPerSecond: 1 / 12 }, message })
}

function walletNodes({ chain: { id, rpcUrls } }: Payment) {
  return rpcUrls.map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
}
