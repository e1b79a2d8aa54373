import { randomUUID } from 'node:crypto'
import { lockSuccessor, publicIdsOf } from '#access/keys/key-store.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { createVerifier } from '#payments/verifier.ts'
import { settlesIntent } from '#x402/settling/intent-store.ts'
import { shareOf } from '#x402/sign-in/bucket-shares.ts'
import { blockHashes } from '../roles/block-hashes.ts'
import type { JobDeps } from './job-deps.ts'

const keys = { lockSuccessor, keysOf: publicIdsOf }

/** Credits prepayments, and takes back what a reorg took. */
export function openVerifying(deps: JobDeps): () => Promise<void> {
  const payment = paymentOf(deps)
  const { ecosystem, stores, clock, logger, onChange } = deps
  const reads = { register: stores.register, payment, file: filePartsOf(ecosystem) }
  const verify = createVerifier({
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    deposits: { canonical: (query) => readDeposits(reads, query) },
    chainId: payment.chain.id,
    blockHash: blockHashes(reads, clock),
    keys,
    shareOf,
    isReserved: (connection, txHash) => settlesIntent(connection, txHash),
    confirmations: payment.confirmations,
    onChange,
  })
  return async () => {
    const { credited, reversed } = await verify()
    if (credited + reversed > 0) logger.info({ credited, reversed }, 'prepayments were settled')
  }
}

/** Ends x402 payments that requests left open. Lazy: only settling needs it. */
export async function openFinishing(deps: JobDeps): Promise<() => Promise<void>> {
  const payment = paymentOf(deps)
  const { stores, clock, logger } = deps
  const [{ finishPayments }, { openSettlingRpc }] = await Promise.all([
    import('#x402/settling/finish-payments.ts'),
    import('#x402/settling/settling-rpc.ts'),
  ])
  const failures: unknown[] = []
  const finishing = {
    engine: stores.accounts,
    clock,
    newId: randomUUID,
    rpc: openSettlingRpc(payment.chain),
    payment,
    keys,
    report: (error: unknown) => void failures.push(error),
  }
  return async () => {
    failures.length = 0
    const credited = await finishPayments(finishing)
    if (credited > 0) logger.info({ credited }, 'x402 payments were finished')
    if (failures.length > 0) throw new AggregateError(failures, 'some payments are not finished')
  }
}

function paymentOf({ ecosystem: { payment } }: JobDeps): Payment {
  if (payment === null) throw new Error('a job for payments, but the file has no payment')
  return payment
}
