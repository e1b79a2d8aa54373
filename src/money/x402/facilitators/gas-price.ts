import { type MicroUsd, multiplyDivide } from '#domain/money.ts'
import { greater, lesser } from '#lib/lesser.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'

export interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/**
 * USDC takes up to 103,000, a contract wallet with a few owners 50,000 more. Simulations have no more
 * either, so that a wallet cannot spend more than they show.
 */
export const TRANSFER_GAS = 200_000n

/** A zero tip is dropped when the mempool is full. */
const TIP_MIN = 1_000_000n

/** It rises by at most 1/8 per block: twice the fee lasts six full blocks. */
const BASE_FEE_ROOM = 2n

export interface GasPrice extends Fees {
  readonly usualFeePerGas: bigint
}

/** Caps the node's tip at the base fee. */
export async function readGasPrice(rpc: Pick<SettlingRpc, 'gasPrice'>): Promise<GasPrice> {
  const { baseFee, tip } = await rpc.gasPrice()
  const maxPriorityFeePerGas = lesser(greater(tip, TIP_MIN), greater(baseFee, TIP_MIN))
  return {
    maxFeePerGas: BASE_FEE_ROOM * baseFee + maxPriorityFeePerGas,
    maxPriorityFeePerGas,
    usualFeePerGas: baseFee + maxPriorityFeePerGas,
  }
}

export function costMax({ maxFeePerGas }: Fees): bigint {
  return TRANSFER_GAS * maxFeePerGas
}

/** The first transfer to a wallet; later ones cost less. */
const TRANSFER_GAS_USUAL = 103_000n

export function costUsual({ usualFeePerGas }: GasPrice): bigint {
  return TRANSFER_GAS_USUAL * usualFeePerGas
}

const GWEI = 1_000_000_000n

export function toGwei(wei: bigint): bigint {
  return (wei + GWEI - 1n) / GWEI
}

export function toMicroUsd(wei: bigint, etherUsd: number): MicroUsd {
  return multiplyDivide(wei, BigInt(etherUsd) * 1_000_000n, 10n ** 18n)
}
