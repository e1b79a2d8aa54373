import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { bucketAccount, keyAccount } from '#accounts/ledger/account.ts'
import { unixNow } from '#lib/time.ts'
import { creditDeposit } from '#money/payments/credit.ts'
import type { Connection } from '#store/engine.ts'
import type { PaymentFault } from '../faults.ts'
import type { CreditDeps } from '../x402-deps.ts'
import { lockPayment, setCredited, setPaymentStatus } from './payment-store.ts'
import type { Settlement } from './read-settlement.ts'
import type { X402Payment } from './x402-payment.ts'

export interface Credited {
  /** The payee's newest rotation; null for a bucket. */
  readonly key: string | null
}

/**
 * Credits the deposit in the caller's transaction. It has at most one live credit, shared with prepayments. Undefined if another writer was first.
 */
export async function creditPayment(
  connection: Connection,
  deps: Pick<CreditDeps, 'newId' | 'clock'>,
  input: {
    readonly payment: X402Payment
    readonly paid: Extract<Settlement, { kind: 'paid' }>
    /** With the call or top-up that it was made for. */
    readonly isServed: boolean
  },
): Promise<Credited | undefined> {
  const { deposit } = input.paid
  const payment = await lockPayment(connection, input.payment.id)
  if (payment === undefined || payment.status === 'credited' || payment.status === 'claimed')
    return undefined
  const { payee } = payment
  const key = payee.kind === 'key' ? await lockSuccessor(connection, payee.publicId) : null
  const id = deps.newId()
  const created = await creditDeposit(connection, {
    id,
    deposit,
    account: payee.kind === 'bucket' ? bucketAccount(payee.bucket) : keyAccount(key ?? ''),
    owner: payee.kind === 'key' ? payee.wallet : deposit.from,
    claimId: null,
    nowUnix: unixNow(deps.clock),
  })
  if (created)
    await setCredited(connection, {
      id: payment.id,
      txHash: deposit.txHash,
      creditId: id,
      isServed: input.isServed,
    })
  else await setPaymentStatus(connection, { id: payment.id, from: payment.status, to: 'claimed' })
  return created ? { key } : undefined
}

export function endPayment(
  connection: Connection,
  payment: X402Payment,
  input: {
    readonly to: 'abandoned' | 'failed'
    readonly lookUnix: number | undefined
    readonly reason: PaymentFault | undefined
  },
): Promise<boolean> {
  return setPaymentStatus(connection, { id: payment.id, from: payment.status, ...input })
}
