import type { Readiness } from '#api/health-routes.ts'
import { readUnproven } from '#datasets/deposits/proof/deposit-proofs.ts'
import { type Proof, readProofs } from '#datasets/holders/proof/proof-row.ts'
import { type ChainStatus, conditionOf } from '#indexer/status.ts'
import { unixNow } from '#lib/clock.ts'
import { toIso } from '#lib/day.ts'
import type { Engine } from '#store/engine.ts'
import type { IndexGaugeDeps } from './index-gauges.ts'
import { barOf } from './index-progress.ts'

/** What GET /readyz shows: every chain, its history, its proof and its nodes, and the accounts. */
export async function readReadiness(
  deps: IndexGaugeDeps & { readonly accounts: Engine },
): Promise<Readiness> {
  const parts: Record<string, string> = {}
  const index = await deps.recentStatus().catch(() => undefined)
  const proofs = await deps.register.snapshot(readProofs).catch(() => new Map<number, Proof>())
  for (const chain of deps.ecosystem.chains) {
    const status = index?.chains.find((each) => each.chain.id === chain.id)
    parts[`chain ${chain.name}`] =
      status === undefined ? 'not indexed yet' : describeChain(status, unixNow(deps.clock))
    const proof = proofs.get(chain.id)
    if (proof !== undefined) parts[`proof ${chain.name}`] = describeProof(proof)
  }
  const { chain: payments } = deps.ecosystem.payment
  const unproven = await deps.register
    .snapshot((reads) => readUnproven(reads, payments.id))
    .catch(() => undefined)
  if (unproven !== undefined)
    parts[`payments ${payments.name}`] =
      `${unproven.count} deposits wait for a proof: ${unproven.reason}`
  for (const progress of deps.indexing()) {
    if (progress.history !== null) parts[`pace ${progress.chain}`] = barOf(progress).detail
    for (const { host, state, reason } of progress.endpoints)
      parts[`node ${host} of ${progress.chain}`] = reason === null ? state : `${state}: ${reason}`
  }
  const accounts = await deps.accounts.read({ kind: 'sql', parts: ['select 1'], values: [] }).then(
    () => 'ok',
    () => 'cannot be reached',
  )
  const ready = accounts === 'ok' && index !== undefined
  return { ready, parts: { ...parts, accounts } }
}

function describeChain(status: ChainStatus, nowUnix: number): string {
  const { backfill, blockNumber, headNumber } = status
  const at = `${conditionOf(status, nowUnix)} at block ${blockNumber} of ${headNumber}`
  if (backfill === null) return at
  const since = toIso(backfill.floor.timestamp)
  const read = backfill.read.timestamp < 0 ? 'none yet' : `up to block ${backfill.read.number}`
  return `${at}; complete since ${since}, older history read: ${read}`
}

function describeProof({ verdict, blockNumber, provenAtUnix, checked, detail }: Proof): string {
  const at = `at block ${blockNumber}, ${toIso(provenAtUnix)}`
  return verdict === 'agrees'
    ? `${checked} figures equal the token contracts' ${at}`
    : `${verdict} ${at}: ${detail ?? ''}`
}
