import { deserialize } from 'ox/TxEnvelopeEip1559'
import { greater } from '#lib/lesser.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import { costMax, type GasPrice, toGwei } from '../offers/gas-price.ts'
import type { X402Deps } from '../x402-deps.ts'
import type { Intent } from './intent.ts'
import { lockSettler, updateSettler } from './settler-store.ts'
import type { Fees } from './settling-signer.ts'
import { findByTxNonce, replaceTransaction } from './transaction-store.ts'

type Deps = Pick<X402Deps, 'engine' | 'clock' | 'signer' | 'gasPerDayGwei'>

/**
 * Replaces the transaction that blocks all later ones because gas rose. It keeps its nonce, so that
 * at most one is sealed. Undefined if nothing is stuck or the day's gas is used up.
 */
export async function raiseStuck(
  deps: Deps,
  input: { readonly chainId: number; readonly used: number; readonly price: GasPrice },
): Promise<Intent | undefined> {
  const { engine, signer } = deps
  const name = { chainId: input.chainId, settler: signer.address }
  const stuck = await findByTxNonce({ run: engine.read }, { ...name, txNonce: input.used })
  if (stuck === undefined || raisedFees(stuck, input.price) === undefined) return undefined
  return engine.write(async (connection) => {
    const settler = await lockSettler(connection, name)
    const intent = await findByTxNonce(connection, { ...name, txNonce: input.used })
    const fees = intent && raisedFees(intent, input.price)
    if (intent === undefined || fees === undefined) return undefined
    const gasDay = startOfDay(unixNow(deps.clock))
    const isToday = settler.gasDay === gasDay
    const reservedGwei = toGwei(costMax(fees))
    const earlierGwei = isToday && intent.gasDay === gasDay ? intent.reservedGwei : 0n
    const gasGwei = (isToday ? settler.gasGwei : 0n) - earlierGwei + reservedGwei
    if (gasGwei > deps.gasPerDayGwei) return undefined
    const signed = await signer.signTransfer({ ...intent, txNonce: input.used, fees })
    await updateSettler(connection, name, { gasDay, gasGwei })
    return replaceTransaction(connection, { intent, signed, reservedGwei, gasDay })
  })
}

function raisedFees({ raw }: Pick<Intent, 'raw'>, price: GasPrice): Fees | undefined {
  const before = raw === null ? undefined : feesOf(raw)
  if (before === undefined || before.maxFeePerGas >= price.usualFeePerGas) return undefined
  const { maxFeePerGas, maxPriorityFeePerGas } = price
  return {
    maxFeePerGas: greater(maxFeePerGas, replacing(before.maxFeePerGas)),
    maxPriorityFeePerGas: greater(maxPriorityFeePerGas, replacing(before.maxPriorityFeePerGas)),
  }
}

/** Undefined if undecodable, which must not block other payments. */
function feesOf(raw: `0x${string}`): Fees | undefined {
  try {
    const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = deserialize(`0x02${raw.slice(4)}`)
    return { maxFeePerGas, maxPriorityFeePerGas }
  } catch {
    return undefined
  }
}

/** Nodes require at least 10 % more of both fees. */
function replacing(price: bigint): bigint {
  return price + price / 8n + 1n
}
