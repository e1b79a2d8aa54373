import type { Payment } from '#ecosystem/ecosystem.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import { gasOfDay } from '../settling/settler-store.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import type { SettlingSigner } from '../settling/settling-signer.ts'
import type { X402Deps } from '../x402-deps.ts'
import { costMax, costUsual, readGasPrice, toGwei, toMicroUsd } from './gas-price.ts'

export interface Availability {
  isAvailable(): Promise<boolean>
}

/** Saves a node request per 402. */
const FRESH_MS = 5_000

/** A settlement usually costs at most one such part of the smallest offer. */
const COST_SHARE = 10n

interface Deps
  extends Pick<X402Deps, 'engine' | 'clock' | 'amounts' | 'gasPerDayGwei' | 'etherUsd' | 'report'> {
  readonly rpc: Pick<SettlingRpc, 'gasPrice' | 'balance' | 'header' | 'provenBlock'>
  readonly signer: Pick<SettlingSigner, 'address'>
  readonly chainId: number
  readonly proof: Payment['proof']
}

/**
 * Offers only what can be settled: nodes prove blocks, the wallet can pay, and gas is cheap enough.
 */
export function createAvailability(deps: Deps): Availability {
  let isProvable = deps.proof === 'endpoints'
  const lookAll = async () => {
    isProvable ||= await provesHead(deps)
    return isProvable && (await look(deps))
  }
  let known: { readonly atMs: number; readonly value: Promise<boolean> } | undefined
  return {
    isAvailable() {
      const now = deps.clock()
      if (known === undefined || Math.abs(now - known.atMs) >= FRESH_MS)
        known = { atMs: now, value: lookAll() }
      return known.value
    },
  }
}

/** Else every payment would stay pending. */
async function provesHead({ rpc, report }: Deps): Promise<boolean> {
  try {
    const head = await rpc.header('latest')
    if (head !== undefined) await rpc.provenBlock(head)
    return head !== undefined
  } catch (error) {
    report(error)
    return false
  }
}

async function look(deps: Deps): Promise<boolean> {
  try {
    const name = { chainId: deps.chainId, settler: deps.signer.address }
    const today = startOfDay(unixNow(deps.clock))
    const [price, balance, usedGwei] = await Promise.all([
      readGasPrice(deps.rpc),
      deps.rpc.balance(deps.signer.address),
      gasOfDay({ run: deps.engine.read }, name, today),
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
