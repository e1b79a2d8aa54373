import { bucketAccount, keyAccount } from '#ledger/account.ts'
import { unixNow } from '#lib/clock.ts'
import { creditDeposit } from '#payments/credit.ts'
import type { Connection } from '#store/engine.ts'
import type { CreditDeps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { lockIntent, setCredited, setIntentStatus, setReservedGas } from './intent-store.ts'
import type { Settlement } from './read-settlement.ts'
import { correctGas } from './settler-store.ts'

/** A credit that was made. */
export interface Credited {
  /** publicId of the key that has the money: the newest rotation of the payee; null for a bucket. */
  readonly key: string | null
}

/**
 * Puts the money of a settled intent on its account, once, in the caller's transaction. The deposit
 * is the same one that prepayments look at: it has at most one live credit, whichever door it came by.
 * Undefined when somebody else came first, for this intent or its deposit.
 */
export async function creditIntent(
  connection: Connection,
  deps: Pick<CreditDeps, 'keys' | 'newId' | 'clock'>,
  input: { readonly intent: Intent; readonly paid: Extract<Settlement, { kind: 'paid' }> },
): Promise<Credited | undefined> {
  const { deposit } = input.paid
  const intent = await lockIntent(connection, input.intent.id)
  if (intent === undefined || intent.status === 'credited' || intent.status === 'claimed')
    return undefined
  const { payee } = intent
  const key = payee.kind === 'key' ? await deps.keys.lockHeir(connection, payee.publicId) : null
  const id = deps.newId()
  const created = await creditDeposit(connection, {
    id,
    deposit,
    account: payee.kind === 'bucket' ? bucketAccount(payee.bucket) : keyAccount(key ?? ''),
    // Who owes it should a reorg take money that is spent by then.
    owner: payee.kind === 'key' ? payee.wallet : deposit.from,
    claimId: null,
    keys: deps.keys,
    nowUnix: unixNow(deps.clock),
  })
  if (created)
    await setCredited(connection, { id: intent.id, txHash: deposit.txHash, creditId: id })
  else await setIntentStatus(connection, { id: intent.id, from: intent.status, to: 'claimed' })
  await giveGasBack(connection, intent, input.paid.paidWei)
  return created ? { key } : undefined
}

/** Ends an intent that moved no money; false when it stands otherwise by now. */
export async function endIntent(
  connection: Connection,
  intent: Intent,
  input: { readonly to: 'abandoned' | 'failed'; readonly paidWei: bigint },
): Promise<boolean> {
  const ended = await setIntentStatus(connection, {
    id: intent.id,
    from: intent.status,
    to: input.to,
  })
  if (ended) await giveGasBack(connection, intent, input.paidWei)
  return ended
}

const WEI_PER_GWEI = 1_000_000_000n

/** What was set aside for gas is replaced by what was paid, as long as that day is the last. */
async function giveGasBack(connection: Connection, intent: Intent, paidWei: bigint): Promise<void> {
  if (intent.settler === null) return
  const paidGwei = (paidWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI
  const name = { chainId: intent.chainId, settler: intent.settler }
  const lessGwei = intent.reservedGwei - paidGwei
  await correctGas(connection, name, { day: intent.gasDay, lessGwei })
  await setReservedGas(connection, { id: intent.id, gwei: paidGwei })
}
