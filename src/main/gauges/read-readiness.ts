import type { Readiness } from '#api/health-routes.ts'
import { readUnproven } from '#datasets/deposits/proof/deposit-proofs.ts'
import { type Proof, readProofs } from '#datasets/holders/proof/proof-row.ts'
import { rereadingOf } from '#datasets/rereading.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { isUnusable, readStalls, type Stall } from '#indexer/stalled-chains.ts'
import { type ChainStatus, conditionOf, isIncomplete } from '#indexer/status.ts'
import { toIso, unixNow } from '#lib/time.ts'
import { type ImpossibleBurns, impossibleBurns } from '#statistics/impossible-burns.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { describeAnomalies, type MappingAnomalies, readMappingAnomalies } from '../mappings.ts'
import type { IndexGaugeDeps } from './index-gauges.ts'
import { barOf } from './index-progress.ts'

export async function readReadiness(
  deps: IndexGaugeDeps & { readonly accounts: Engine },
): Promise<Readiness> {
  const parts: Record<string, string> = {}
  const index = await deps.recentStatus().catch(() => undefined)
  const { proofs, burns, anomalies } = await deps.register
    .snapshot((reads) => readFindings(reads, deps.ecosystem))
    .catch(() => NO_FINDINGS)
  for (const each of anomalies)
    parts[`logs of ${each.mapping} on ${each.chain}`] ??= describeAnomalies(each)
  for (const { token, detail } of burns) parts[`burns ${token}`] = `WRONG: ${detail}`
  // A chain may stall before its first block and have no status.
  const stalls = await deps.register.snapshot(readStalls).catch(() => new Map<number, Stall>())
  for (const chain of deps.ecosystem.chains) {
    const status = index?.chains.find((each) => each.chain.id === chain.id)
    const known =
      status === undefined ? 'not indexed yet' : describeChain(status, unixNow(deps.clock))
    parts[`chain ${chain.name}`] = `${known}${describeStall(stalls.get(chain.id))}`
    const proof = proofs.get(chain.id)
    if (proof !== undefined) parts[`proof ${chain.name}`] = describeProof(proof)
  }
  const payments = deps.ecosystem.payment?.chain
  const unproven =
    payments &&
    (await deps.register
      .snapshot((reads) => readUnproven(reads, payments.id))
      .catch(() => undefined))
  if (unproven !== undefined)
    parts[`payments ${payments?.name}`] =
      `${unproven.count} deposits waiting for a proof: ${unproven.reason}`
  for (const progress of deps.indexing()) {
    if (progress.history !== null) parts[`pace ${progress.chain}`] = barOf(progress).detail
    for (const { host, state, reason } of progress.endpoints)
      parts[`node ${host} of ${progress.chain}`] = reason === null ? state : `${state}: ${reason}`
  }
  for (const { chain, dataset, fromBlock, toBlock } of index ? rereadingOf(index, deps.file) : [])
    parts[`${dataset} of ${chain.name}`] =
      `being read again; blocks ${fromBlock} to ${toBlock ?? 'the head'} are missing`
  const other = index?.otherParts.flatMap(({ fields }) => fields) ?? []
  if (other.length > 0)
    parts['ecosystem file'] =
      `the register was built from another file (${other.join(', ')}); start an index with this one`
  const accounts = await deps.accounts.read({ kind: 'sql', parts: ['select 1'], values: [] }).then(
    () => 'ok',
    () => 'cannot be reached',
  )
  const isRight =
    burns.length === 0 && !deps.ecosystem.chains.some(({ id }) => isUnusable(stalls.get(id)))
  const isIndexed = index !== undefined && other.length === 0
  const ready = accounts === 'ok' && isIndexed && isRight
  return { ready, parts: { ...parts, accounts } }
}

interface Findings {
  readonly proofs: ReadonlyMap<number, Proof>
  /** Above the minted supply, of tokens whose transfers match their contract's. */
  readonly burns: readonly ImpossibleBurns[]
  readonly anomalies: readonly MappingAnomalies[]
}

const NO_FINDINGS: Findings = {
  proofs: new Map(),
  burns: [],
  anomalies: [],
}

async function readFindings(connection: Connection, ecosystem: Ecosystem): Promise<Findings> {
  const { chains, tokens } = ecosystem
  const proofs = await readProofs(connection)
  const proven = tokens.filter(({ addresses }) =>
    chains.every(({ id, name }) => !addresses.has(name) || proofs.get(id)?.verdict === 'agrees'),
  )
  return {
    proofs,
    burns: await impossibleBurns(connection, proven),
    anomalies: await readMappingAnomalies(connection, ecosystem),
  }
}

function describeChain(status: ChainStatus, nowUnix: number): string {
  const { backfill, blockNumber, headNumber } = status
  const at = `${conditionOf(status, nowUnix)} at block ${blockNumber} of ${headNumber}`
  if (backfill === null || !isIncomplete(status)) return at
  const since = toIso(backfill.newestFrom.timestamp)
  const read = backfill.read.timestamp < 0 ? 'none yet' : `up to block ${backfill.read.number}`
  return `${at}; complete since ${since}, older history read: ${read}`
}

function describeStall(stall: Stall | undefined): string {
  return stall === undefined ? '' : `; stalled (${stall.reason}): ${stall.detail}`
}

function describeProof({ verdict, blockNumber, provenAtUnix, checked, detail }: Proof): string {
  const at = `at block ${blockNumber}, ${toIso(provenAtUnix)}`
  return verdict === 'agrees'
    ? `${checked} figures equal the token contracts' ${at}`
    : `${verdict} ${at}: ${detail ?? ''}`
}
