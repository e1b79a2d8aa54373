import { type Clock, unixNow } from '#lib/clock.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { sleep } from '#lib/sleep.ts'
import { type Proof, readProofs, storeProof } from './proof-row.ts'
import { type ProveDeps, proveHolders } from './prove-holders.ts'

export interface KeepProvingDeps extends ProveDeps {
  readonly clock: Clock
  /** Whether this process is the one that indexes. */
  isIndexing(): boolean
  onProof(proof: Proof): void
}

/** A proof that could not be made, or that differs, is tried again sooner than the next day's. */
const TRY_AGAIN_SECONDS = 600

/** How often it is looked whether a proof is due. */
const LOOK_MS = 500

/** Proves every chain as soon as its history is complete, and then once a day. */
export async function keepProving(deps: KeepProvingDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (deps.isIndexing()) await proveDue(deps, signal).catch(() => undefined)
    await sleep(LOOK_MS, signal)
  }
}

/** What fails here is a store or a node that is away: the next look comes soon enough. */
async function proveDue(deps: KeepProvingDeps, signal: AbortSignal): Promise<void> {
  const proofs = await deps.register.snapshot(readProofs)
  for (const { id } of deps.ecosystem.chains) {
    const last = proofs.get(id)
    const pause = last?.verdict === 'agrees' ? DAY_SECONDS : TRY_AGAIN_SECONDS
    const age = unixNow(deps.clock) - (last?.provenAtUnix ?? Number.NEGATIVE_INFINITY)
    if (signal.aborted || Math.abs(age) < pause) continue
    const outcome = await proveHolders(deps, id)
    if (outcome === undefined) continue
    const proof = { ...outcome, provenAtUnix: unixNow(deps.clock) }
    await deps.register.write((connection) => storeProof(connection, proof))
    deps.onProof(proof)
  }
}
