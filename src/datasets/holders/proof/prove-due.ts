import { noteCompared, readUnknown } from '#indexer/unknown-figures.ts'
import { type Clock, DAY_SECONDS, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { HOLDERS } from '../../dataset-names.ts'
import { type Proof, readProofs, storeProof } from './proof-row.ts'
import { type ProveDeps, proveHolders } from './prove-holders.ts'

export interface ProveDueDeps extends ProveDeps {
  readonly clock: Clock
  /** Checked in the write, so that a register built from another file never changes. */
  isOurs(connection: Connection): Promise<boolean>
  /** Re-reads the whole chain. */
  readAgain(chainId: number): void
  /** Called for every agreement, and once per difference. */
  onProof(proof: Proof): void
}

const HOUR_SECONDS = 3_600

/** The pause after a failure or a difference. */
const TRY_AGAIN_SECONDS = 600

/** If a re-read did not help, the token or all endpoints are at fault. */
const READ_AGAIN_SECONDS = 30 * DAY_SECONDS

/** Compares once the history is complete, then hourly. `told`: causes reported, by chain. */
export async function proveDue(
  deps: ProveDueDeps,
  told: Map<number, string>,
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
    await proveOne(deps, told, { chainId: id, rereadUnix: last?.rereadUnix ?? null })
  }
}

async function proveOne(
  deps: ProveDueDeps,
  told: Map<number, string>,
  before: Pick<Proof, 'chainId' | 'rereadUnix'>,
): Promise<void> {
  const { chainId } = before
  const outcome = await proveHolders(deps, chainId)
  if (outcome === undefined) return
  const { isReadable, cause, compared, ...facts } = outcome
  const nowUnix = unixNow(deps.clock)
  const age = nowUnix - (before.rereadUnix ?? Number.NEGATIVE_INFINITY)
  const isReadAgain = isReadable && Math.abs(age) >= READ_AGAIN_SECONDS
  const again = isReadAgain ? '; the chain is read again' : ''
  const detail = facts.detail === null ? null : facts.detail + again
  const { rereadUnix } = before
  const proof = { ...facts, detail, provenAtUnix: nowUnix, rereadUnix }
  const isOurs = await deps.register.write(async (connection) => {
    if (!(await deps.isOurs(connection))) return false
    await storeProof(connection, proof)
    const { blockNumber } = proof
    for (const each of compared)
      await noteCompared(connection, { ...each, chainId, dataset: HOLDERS, blockNumber })
    return true
  })
  if (!isOurs) return
  if (isReadAgain) deps.readAgain(chainId)
  // The holder in `detail` is random, so compare causes.
  if (cause === null || told.get(chainId) !== cause) deps.onProof(proof)
  if (cause === null) told.delete(chainId)
  else told.set(chainId, cause)
}
