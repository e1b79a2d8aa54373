import { randomUUID } from 'node:crypto'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { createVerifier } from '#money/payments/verifier.ts'
import { openFacilitator } from '#money/x402/facilitators/open-facilitator.ts'
import { createPublisher } from '#money/x402/facilitators/publish-readiness.ts'
import { finishPayments, sendReserved } from '#money/x402/settling/finish-payments.ts'
import { settlesPayment } from '#money/x402/settling/payment-store.ts'
import { PaymentSender } from '#money/x402/settling/send-payments.ts'
import { openSettlingRpc } from '#money/x402/settling/settling-rpc.ts'
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

/** 64 payments may fail for one reason. */
const REASONS_MAX = 5

export interface SettlingJobs {
  send(): Promise<void>
  finish(): Promise<void>
  publish(): Promise<void>
}

/** Settles x402 payments. */
export async function openSettling(deps: JobDeps): Promise<SettlingJobs> {
  const payment = paymentOf(deps)
  const { clock, logger } = deps
  const failures: unknown[] = []
  const common = {
    engine: deps.accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(payment.chain),
    payment,
    report: (error: unknown) => void failures.push(error),
  }
  const facilitator = await openFacilitator({ ...deps, ...common })
  const settling = { ...common, facilitator }
  const sender = new PaymentSender(settling)
  deps.onEnd(() => sender.end())
  const publish = createPublisher(settling)
  const failed = () => {
    const errors = failures.splice(0)
    if (errors.length === 0) return
    const reasons = [...new Set(errors.map(String))].slice(0, REASONS_MAX).join('; ')
    throw new Error(`${errors.length} steps of payments failed: ${reasons}`, { cause: errors[0] })
  }
  return {
    send: () => sendReserved({ ...settling, sender }),
    async finish() {
      const credited = await finishPayments({ ...settling, sender })
      if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
      failed()
    },
    publish,
  }
}

function paymentOf({ ecosystem: { payment } }: JobDeps): Payment {
  if (payment === null) throw new Error('a job for payments, but the file has no payment')
  return payment
}
