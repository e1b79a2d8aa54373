import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import type { Facilitator } from './facilitator.ts'
import { publish, READY_MS } from './readiness.ts'

interface Deps {
  /** The leader's. */
  readonly engine: Engine
  readonly clock: Clock
  readonly rpc: Pick<SettlingRpc, 'header' | 'provenBlock' | 'call'>
  readonly payment: Payment
  readonly facilitator: Pick<Facilitator, 'wallet' | 'isReady'>
  report(error: unknown): void
}

/** Tells all processes whether payments can be settled: only then are they offered. */
export function createPublisher(deps: Deps): () => Promise<void> {
  const { engine, clock, facilitator } = deps
  let isProvable = false
  let isPayable = false
  return async () => {
    isProvable ||= await provesHead(deps)
    isPayable ||= await canAnyonePay(deps)
    const isReady = isProvable && isPayable && (await facilitator.isReady())
    const readyUntilMs = isReady ? clock() + READY_MS : 0
    const wallet = facilitator.wallet ?? null
    await engine.write((connection) => publish(connection, { wallet, readyUntilMs }))
  }
}

/** Ready if any offered scheme is. */
async function canAnyonePay(deps: Deps): Promise<boolean> {
  try {
    const ways = await Promise.all(SCHEMES.map((scheme) => scheme.proveWays(deps)))
    if (ways.flat().some(({ refusal }) => refusal === undefined)) return true
    throw new Error(`the asset takes no x402 payment: ${ways.flat()[0]?.refusal}`)
  } catch (error) {
    deps.report(error)
    return false
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
