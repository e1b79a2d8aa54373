import { TRANSFER_TOPIC } from '#domain/token.ts'
import { recipientsOf } from '../deposits.ts'
import type { ProveDepositsDeps } from './prove-deposits.ts'

/** Base units. */
export interface Step {
  readonly block: number
  readonly amount: bigint
}

/** A few megabytes; longer lists are not cached. */
const KEPT_MAX = 100_000

/** Outgoing transfers, cached up to the finalized block. */
export class SentTransfers {
  readonly #deps: Pick<ProveDepositsDeps, 'payment' | 'sourceOf'>
  #kept:
    | { readonly after: number; readonly to: number; readonly steps: readonly Step[] }
    | undefined

  constructor(deps: Pick<ProveDepositsDeps, 'payment' | 'sourceOf'>) {
    this.#deps = deps
  }

  async read(
    range: { readonly after: number; readonly to: number; readonly finalized: number },
    signal: AbortSignal,
  ): Promise<readonly Step[]> {
    const { after, to, finalized } = range
    const kept = this.#kept?.after === after && this.#kept.to <= to ? this.#kept : undefined
    const young = await this.#readRange({ from: (kept?.to ?? after) + 1, to }, signal)
    const steps = [...(kept?.steps ?? []), ...young]
    const final = Math.min(to, finalized)
    const old = steps.filter(({ block }) => block <= final)
    const isKept = final > after && old.length <= KEPT_MAX
    this.#kept = isKept ? { after, to: final, steps: old } : undefined
    return steps
  }

  async #readRange(
    range: { readonly from: number; readonly to: number },
    signal: AbortSignal,
  ): Promise<readonly Step[]> {
    const { asset, chain, ...payment } = this.#deps.payment
    const filter = {
      addresses: [asset],
      topics: [[TRANSFER_TOPIC], recipientsOf(payment)],
      pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
    }
    const steps: Step[] = []
    if (range.from > range.to) return steps
    const source = this.#deps.sourceOf(chain.id)
    for await (const { columns } of source.history({ filter, signal, ...range }))
      for (let index = 0; index < columns.count; index += 1) {
        const { blockNumber, data } = columns.log(index)
        steps.push({ block: blockNumber, amount: BigInt(data) })
      }
    return steps
  }
}
