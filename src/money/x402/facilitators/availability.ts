import type { Address } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { gasOfDay } from '../settling/gas-days.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { costMax, costUsual, readGasPrice, toGwei, toMicroUsd } from './gas-price.ts'

/** A settlement usually costs at most one such part of the smallest offer. */
const COST_SHARE = 10n

interface Deps {
  readonly engine: Pick<Engine, 'read'>
  readonly clock: Clock
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'balance'>
  readonly wallet: Address
  readonly amounts: readonly MicroUsd[]
  readonly gasPerDayGwei: bigint
  readonly etherUsd: number
  report(error: unknown): void
}

/** Whether our wallet can pay, the day has gas left, and gas is cheap enough. */
export function createAvailability(deps: Deps): () => Promise<boolean> {
  return async () => {
    try {
      const today = startOfDay(unixNow(deps.clock))
      const [price, balance, usedGwei] = await Promise.all([
        readGasPrice(deps.rpc),
        deps.rpc.balance(deps.wallet),
        gasOfDay({ run: deps.engine.read }, today),
      ])
      const cost = costMax(price)
      const smallest = deps.amounts[0] ?? 0n
      return (
        balance >= cost &&
        usedGwei + toGwei(cost) <= deps.gasPerDayGwei &&
        toMicroUsd(costUsual(price), deps.etherUsd) * COST_SHARE <= smallest
      )
    } catch (error) {
      deps.report(error)
      return false
    }
  }
}
