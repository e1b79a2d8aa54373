import { Mutex } from '#lib/mutex.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { costMax, readGasPrice, toGwei } from '../offers/gas-price.ts'
import { hasTimeLeft } from '../offers/match-offer.ts'
import type { X402Deps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { raiseStuck } from './raise-fees.ts'
import { lockSettler, updateSettler } from './settler-store.ts'
import { NodeRefusal, type SettlingRpc } from './settling-rpc.ts'
import type { Fees } from './settling-signer.ts'
import { lowestFreeNonce, setSubmitted } from './transaction-store.ts'

/** `submitted`: stored, perhaps sent. `refused`: nothing signed. `late`: simulate again. */
export type SubmitOutcome =
  | { readonly kind: 'submitted'; readonly intent: Intent }
  | { readonly kind: 'refused' }
  | { readonly kind: 'late' }

interface Deps extends Pick<X402Deps, 'engine' | 'clock' | 'signer' | 'gasPerDayGwei' | 'report'> {
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'transactionCount' | 'send'>
}

/**
 * Nonces are assigned under the settling wallet's row lock, and transactions stored before they are
 * sent: they can be resent unchanged, so no nonce is skipped or reused.
 */
export function createSubmitter(deps: Deps): (intent: Intent) => Promise<SubmitOutcome> {
  const oneByOne = new Mutex()
  return async (intent) => {
    const sinceMs = deps.clock()
    const [price, used] = await Promise.all([
      readGasPrice(deps.rpc),
      deps.rpc.transactionCount(deps.signer.address),
    ])
    await raiseIfStuck(deps, { chainId: intent.chainId, used, price })
    const { maxFeePerGas, maxPriorityFeePerGas } = price
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    const outcome = await oneByOne.run(() =>
      deps.engine.write((connection) =>
        signAndStore(connection, deps, { intent, fees, used, sinceMs }),
      ),
    )
    if (outcome.kind === 'submitted') await sendStored(deps, outcome.intent)
    return outcome
  }
}

async function raiseIfStuck(deps: Deps, input: Parameters<typeof raiseStuck>[1]): Promise<void> {
  try {
    const raised = await raiseStuck(deps, input)
    if (raised !== undefined) await sendStored(deps, raised)
  } catch (error) {
    deps.report(error)
  }
}

/** A simulation older than a block may be wrong. */
const FRESH_MS = 2_000

async function signAndStore(
  connection: Connection,
  deps: Deps,
  input: {
    readonly intent: Intent
    readonly fees: Fees
    readonly used: number
    readonly sinceMs: number
  },
): Promise<SubmitOutcome> {
  const { intent, fees, used } = input
  const { signer } = deps
  const name = { chainId: intent.chainId, settler: signer.address }
  const settler = await lockSettler(connection, name)
  if (!hasTimeLeft(deps, intent.authorization)) return { kind: 'refused' }
  if (Math.abs(deps.clock() - input.sinceMs) > FRESH_MS) return { kind: 'late' }
  const gasDay = startOfDay(unixNow(deps.clock))
  const usedGwei = settler.gasDay === gasDay ? settler.gasGwei : 0n
  const reservedGwei = toGwei(costMax(fees))
  if (usedGwei + reservedGwei > deps.gasPerDayGwei) return { kind: 'refused' }
  const txNonce = await lowestFreeNonce(connection, { ...name, from: used })
  const { raw, txHash } = await signer.signTransfer({ ...intent, txNonce, fees })
  const stored = { txHash, raw, settler: signer.address, txNonce, reservedGwei, gasDay }
  if (!(await setSubmitted(connection, { id: intent.id, ...stored }))) return { kind: 'refused' }
  await updateSettler(connection, name, { gasDay, gasGwei: usedGwei + reservedGwei })
  const submitted = { ...intent, ...stored, ownHash: txHash, status: 'submitted' } as const
  return { kind: 'submitted', intent: submitted }
}

/** On an error the node may still have it; the chain decides. */
export async function sendStored(
  deps: Pick<Deps, 'report'> & { readonly rpc: Pick<SettlingRpc, 'send'> },
  intent: Pick<Intent, 'raw'>,
): Promise<void> {
  if (intent.raw === null) return
  try {
    await deps.rpc.send(intent.raw)
  } catch (error) {
    if (error instanceof NodeRefusal && KNOWN.test(error.message)) return
    deps.report(error)
  }
}

const KNOWN = /already (known|imported)|known transaction|nonce too low/i
