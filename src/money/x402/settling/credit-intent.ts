import { lockSuccessor } from '#callers/keys/key-store.ts'
import { bucketAccount, keyAccount } from '#ledger/account.ts'
import { unixNow } from '#lib/time.ts'
import { creditDeposit } from '#money/payments/credit.ts'
import type { Connection } from '#store/engine.ts'
import type { PaymentFault } from '../faults.ts'
import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { lockIntent, setCredited, setIntentStatus } from './intent-store.ts'
import type { Settlement } from './read-settlement.ts'

export interface Credited {
  /** The payee's newest rotation; null for a bucket. */
  readonly key: string | null
}

/**
 * In the caller's transaction. A deposit has at most one live credit, shared with prepayments.
 * Undefined if another writer was first.
 */
export async function creditIntent(
  connection: Connection,
  deps: Pick<CreditDeps, 'newId' | 'clock'>,
  input: {
    readonly intent: Intent
    readonly paid: Extract<Settlement, { kind: 'paid' }>
    /** With the call or top-up that it was made for. */
    readonly isServed: boolean
  },
): Promise<Credited | undefined> {
  const { deposit } = input.paid
  const intent = await lockIntent(connection, input.intent.id)
  if (intent === undefined || intent.status === 'credited' || intent.status === 'claimed')
    return undefined
  const { payee } = intent
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
      id: intent.id,
      txHash: deposit.txHash,
      creditId: id,
      isServed: input.isServed,
    })
  else await setIntentStatus(connection, { id: intent.id, from: intent.status, to: 'claimed' })
  return created ? { key } : undefined
}

export function endIntent(
  connection: Connection,
  intent: Intent,
  input: {
    readonly to: 'abandoned' | 'failed'
    readonly lookUnix: number | undefined
    readonly reason: PaymentFault | undefined
  },
): Promise<boolean> {
  return setIntentStatus(connection, { id: intent.id, from: intent.status, ...input })
}
