import { noteCompared, readUnknown } from '#chains/indexer/unknown-figures.ts'
import { type Clock, HOUR_SECONDS, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { HOLDERS } from '../../dataset-names.ts'
import { type Proof, readProofs, storeProof } from './proof-row.ts'
import { type ProveDeps, proveHolders } from './prove-holders.ts'

export interface ProveDueDeps extends ProveDeps {
  readonly clock: Clock
  /** The write checks it, so that a register built from another file never changes. */
  isOurs(connection: Connection): Promise<boolean>
  /** Called for every agreement, and once when figures begin to differ or cannot be compared. */
  onProof(proof: Proof): void
}

/** The pause after a failure or a difference. */
const TRY_AGAIN_SECONDS = 600

/** Compares once the history is complete, then hourly. `told`: the last verdict reported, by chain. */
export async function proveDue(
  deps: ProveDueDeps,
  told: Map<number, Proof['verdict']>,
  signal: AbortSignal,
): Promise<void> {
  const { proofs, unknown } = await deps.register.snapshot(async (reads) => ({
    proofs: await readProofs(reads),
    unknown: await readUnknown(reads),
  }))
  for (const { id } of deps.ecosystem.chains) {
    const last = proofs.get(id)
    const isDoubted = unknown.some((each) => each.chainId === id && each.dataset === HOLDERS)
    const pause = last?.verdict === 'agrees' && !isDoubted ? HOUR_SECONDS : TRY_AGAIN_SECONDS
    const age = unixNow(deps.clock) - (last?.provenAtUnix ?? Number.NEGATIVE_INFINITY)
    if (signal.aborted || Math.abs(age) < pause) continue
    await proveOne(deps, told, id)
  }
}

async function proveOne(
  deps: ProveDueDeps,
  told: Map<number, Proof['verdict']>,
  chainId: number,
): Promise<void> {
  const outcome = await proveHolders(deps, chainId)
  if (outcome === undefined) return
  const { compared, ...facts } = outcome
  const proof = { ...facts, provenAtUnix: unixNow(deps.clock) }
  const isOurs = await deps.register.write(async (connection) => {
    if (!(await deps.isOurs(connection))) return false
    await storeProof(connection, proof)
    const { blockNumber } = proof
    for (const each of compared)
      await noteCompared(connection, { ...each, chainId, dataset: HOLDERS, blockNumber })
    return true
  })
  if (!isOurs) return
  const { verdict } = proof
  if (verdict === 'agrees' || told.get(chainId) !== verdict) deps.onProof(proof)
  told.set(chainId, verdict)
}
