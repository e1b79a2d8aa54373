import type { MicroUsd } from '#domain/money.ts'
import { multiplyDivide } from '#lib/decimal.ts'
import { greater, lesser } from '#lib/lesser.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { type Fees, TRANSFER_GAS } from '../settling/settling-signer.ts'

/** A tip of nothing is passed over by nodes that are asked for more than they can hold. */
const TIP_MIN = 1_000_000n

/** A base fee rises by an eighth a block at most: twice its amount lasts six full blocks. */
const BASE_FEE_ROOM = 2n

/** Prices of gas, in wei. */
export interface GasPrice extends Fees {
  /** What is paid if the base fee stays. */
  readonly usualFeePerGas: bigint
}

/** What a transaction that is sent now may pay; a node's idea of a tip counts up to the base fee. */
export async function readGasPrice(rpc: Pick<SettlingRpc, 'gasPrice'>): Promise<GasPrice> {
  const { baseFee, tip } = await rpc.gasPrice()
  const maxPriorityFeePerGas = lesser(greater(tip, TIP_MIN), greater(baseFee, TIP_MIN))
  return {
    maxFeePerGas: BASE_FEE_ROOM * baseFee + maxPriorityFeePerGas,
    maxPriorityFeePerGas,
    usualFeePerGas: baseFee + maxPriorityFeePerGas,
  }
}

/** The most that one settlement can cost, in wei. */
export function costMax({ maxFeePerGas }: Fees): bigint {
  return TRANSFER_GAS * maxFeePerGas
}

/** The first payment of all to a wallet takes as much on the real coin, measured; later ones less. */
const TRANSFER_GAS_USUAL = 103_000n

export function costUsual({ usualFeePerGas }: GasPrice): bigint {
  return TRANSFER_GAS_USUAL * usualFeePerGas
}

const GWEI = 1_000_000_000n

/** Rounded up: what is set aside must not be too little. */
export function toGwei(wei: bigint): bigint {
  return (wei + GWEI - 1n) / GWEI
}

/** Wei as micro-USD at a price of whole US dollars per ether. */
export function toMicroUsd(wei: bigint, etherUsd: number): MicroUsd {
  return multiplyDivide(wei, BigInt(etherUsd) * 1_000_000n, 10n ** 18n)
}
