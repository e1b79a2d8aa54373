import { unixNow } from '#lib/clock.ts'
import { startOfDay } from '#lib/day.ts'
import { Mutex } from '#lib/mutex.ts'
import type { Connection } from '#store/engine.ts'
import { costMax, readGasPrice, toGwei } from '../offers/gas-price.ts'
import type { X402Deps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { setSubmitted } from './intent-store.ts'
import { raiseStuck } from './raise-fees.ts'
import { highestSubmitted, lockSettler, type Settler, updateSettler } from './settler-store.ts'
import { NodeRefusal, type SettlingRpc } from './settling-rpc.ts'
import type { Fees } from './settling-signer.ts'

/** `submitted`: stored, and perhaps sent. `refused`: nothing was signed or sent. */
export type SubmitOutcome =
  | { readonly kind: 'submitted'; readonly intent: Intent }
  | { readonly kind: 'refused' }

interface Deps extends Pick<X402Deps, 'engine' | 'clock' | 'signer' | 'gasPerDayGwei' | 'report'> {
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'transactionCount' | 'send'>
}

/**
 * Signs and sends settlements, one after another. A nonce is given out under the lock of the
 * settling wallet's row, and the signed transaction is stored before it is sent: whatever happens
 * then, it can be sent again as it is, so that no nonce is left out or used twice.
 */
export function createSubmitter(deps: Deps): (intent: Intent) => Promise<SubmitOutcome> {
  const oneByOne = new Mutex()
  return (intent) => oneByOne.run(() => submit(deps, intent))
}

async function submit(deps: Deps, intent: Intent): Promise<SubmitOutcome> {
  const [price, sealed] = await Promise.all([
    readGasPrice(deps.rpc),
    deps.rpc.transactionCount(deps.signer.address),
  ])
  const raised = await raiseStuck(deps, { chainId: intent.chainId, sealed, price })
  if (raised !== undefined) await sendStored(deps, raised)
  const { maxFeePerGas, maxPriorityFeePerGas } = price
  const fees = { maxFeePerGas, maxPriorityFeePerGas }
  const submitted = await deps.engine.write((connection) =>
    signAndStore(connection, deps, { intent, fees, sealed }),
  )
  if (submitted === undefined) return { kind: 'refused' }
  await sendStored(deps, submitted)
  return { kind: 'submitted', intent: submitted }
}

async function signAndStore(
  connection: Connection,
  deps: Deps,
  input: { readonly intent: Intent; readonly fees: Fees; readonly sealed: number },
): Promise<Intent | undefined> {
  const { intent, fees, sealed } = input
  const { signer } = deps
  const name = { chainId: intent.chainId, settler: signer.address }
  const nowUnix = unixNow(deps.clock)
  const settler = await lockSettler(connection, name)
  const gasDay = startOfDay(nowUnix)
  const usedGwei = settler.gasDay === gasDay ? settler.gasGwei : 0n
  const reservedGwei = toGwei(costMax(fees))
  if (usedGwei + reservedGwei > deps.gasPerDayGwei) return undefined
  const highest = await highestSubmitted(connection, name)
  const txNonce = nextNonce({ settler, highest, sealed, nowUnix })
  const { raw, txHash } = await signer.signTransfer({ ...intent, txNonce, fees })
  const stored = { id: intent.id, txHash, raw, settler: signer.address, txNonce }
  const isStored = await setSubmitted(connection, { ...stored, reservedGwei, gasDay })
  if (!isStored) return undefined
  const gasGwei = usedGwei + reservedGwei
  await updateSettler(connection, name, {
    nextNonce: txNonce + 1,
    usedUnix: nowUnix,
    gasDay,
    gasGwei,
  })
  return { ...intent, ...stored, status: 'submitted', reservedGwei, gasDay }
}

/** A node that lags tells too few sealed transactions for about this long. */
const LAG_SECONDS = 60

/**
 * Behind everything that is sealed or may still be. What we remember counts against a node that lags;
 * once nothing is under way for a minute the chain is right, since a nonce that it lacks would keep
 * all later ones waiting for ever.
 */
export function nextNonce(input: {
  readonly settler: Pick<Settler, 'nextNonce' | 'usedUnix'>
  readonly highest: number | undefined
  readonly sealed: number
  readonly nowUnix: number
}): number {
  const { settler, highest, sealed, nowUnix } = input
  const isRecent = nowUnix - settler.usedUnix < LAG_SECONDS
  const remembered = highest === undefined ? 0 : highest + 1
  return Math.max(sealed, remembered, isRecent ? settler.nextNonce : 0)
}

/**
 * Sends a stored transaction, again if need be. An error says little: the node may have it all the
 * same, so that only the chain tells what became of it.
 */
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

/** How nodes say that they have it, or had it. */
const KNOWN = /already (known|imported)|known transaction|nonce too low/i
