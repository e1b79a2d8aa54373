import type { MetaDeps } from '#api/meta-route.ts'
import { readProofs } from '#datasets/holders/proof/proof-row.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Clock } from '#lib/clock.ts'
import { sleep } from '#lib/sleep.ts'
import type { Engine } from '#store/engine.ts'

/** Proofs are made once an hour. */
const FRESH_MS = 5_000

/** Whoever asks what there is to ask for does not wait longer for a store that is away. */
const WAIT_MS = 100

/** The last proofs, read now and then; the ones before while the register cannot be read. */
export function makeRecentProofs(deps: {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
}): MetaDeps['proofs'] {
  let known: Awaited<ReturnType<MetaDeps['proofs']>> = []
  let readAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (Math.abs(deps.clock() - readAtMs) < FRESH_MS) return known
    readAtMs = deps.clock()
    const reading = deps.register.snapshot(readProofs).then((proofs) => {
      known = deps.ecosystem.chains.flatMap(({ id, name }) => {
        const proof = proofs.get(id)
        if (proof === undefined) return []
        const { chainId: _id, rereadUnix: _reread, ...shown } = proof
        return [{ chain: name, ...shown }]
      })
    })
    await Promise.race([reading.catch(() => undefined), sleep(WAIT_MS)])
    return known
  }
}
