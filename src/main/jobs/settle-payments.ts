import { notifierOf } from '#money/payments/prepay-routes.ts'
import { verifyPayments } from '#money/payments/verifier.ts'
import { finishPayments } from '#money/x402/finish-payments.ts'
import { settlingOf } from '#money/x402/settling.ts'
import type { JobDeps } from './job-deps.ts'

/** Credits prepayments, and takes back what a reorg took. */
export function openVerifying(deps: JobDeps): () => Promise<void> {
  return async () => {
    const { credited, reversed } = await verifyPayments(deps)
    if (credited + reversed === 0) return
    notifierOf(deps.ctx).notify()
    deps.logger.info({ credited, reversed }, 'prepayments were settled')
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
