import { randomUUID } from 'node:crypto'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { createVerifier } from '#money/payments/verifier.ts'
import { finishPayments } from '#money/x402/finish-payments.ts'
import { settlesPayment } from '#money/x402/payment.ts'
import { settlingOf } from '#money/x402/settling.ts'
import { blockHashes } from '../start/block-hashes.ts'
import type { JobDeps } from './job-deps.ts'

/** Credits prepayments, and takes back what a reorg took. */
export function openVerifying(deps: JobDeps): () => Promise<void> {
  const payment = paymentOf(deps)
  const { clock, logger, onChange } = deps
  const verify = createVerifier({
    engine: deps.accounts,
    clock,
    newId: randomUUID,
    deposits: { canonical: (query) => readDeposits(deps, query) },
    chainId: payment.chain.id,
    blockHash: blockHashes(deps.register, payment.chain),
    isReserved: settlesPayment,
    confirmations: payment.confirmations,
    onChange,
  })
  return async () => {
    const { credited, reversed } = await verify()
    if (credited + reversed > 0) logger.info({ credited, reversed }, 'prepayments were settled')
  }
}

/** Finishes x402 payments. It needs no fence, since a payment's row is locked while it is credited. */
export async function openFinishing({ ctx, logger }: JobDeps): Promise<() => Promise<void>> {
  const settling = await settlingOf(ctx)
  return async () => {
    if (settling === undefined) return
    const credited = await finishPayments(ctx, settling)
    if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
  }
}

function paymentOf({ ecosystem: { payment } }: JobDeps): Payment {
  if (payment === null) throw new Error('a job for payments, but the file has no payment')
  return payment
}
