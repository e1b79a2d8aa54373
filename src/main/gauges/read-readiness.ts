import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import { type Proof, readProofs } from '#chains/datasets/holders/proof/proof-row.ts'
import { reindexingOf } from '#chains/datasets/reindexing.ts'
import { nameUnknown } from '#chains/datasets/unknown.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { NOTED_SECONDS, readNodeStates } from '#chains/indexer/node-states.ts'
import { isUnusable, readStalls, type Stall } from '#chains/indexer/stalled-chains.ts'
import {
  type ChainStatus,
  conditionOf,
  type IndexStatus,
  isIncomplete,
} from '#chains/indexer/status.ts'
import { type ImpossibleBurns, impossibleBurns } from '#chains/statistics/impossible-burns.ts'
import { allEnded } from '#lib/all-ended.ts'
import { toIso, unixNow } from '#lib/time.ts'
import type { Readiness } from '#serving/api/health-routes.ts'
import type { Connection } from '#store/engine.ts'
import { describeAnomalies, type MappingAnomalies, readMappingAnomalies } from '../mappings.ts'
import type { IndexGaugeDeps } from './index-gauges.ts'
import { barOf } from './index-progress.ts'
import { stateOfRegister } from './store-state.ts'

export async function readReadiness(
  deps: IndexGaugeDeps & {
    accountsState(): Promise<string>
    /** What is done again and again, by name. */
    jobStates(): Promise<Readonly<Record<string, string>>>
  },
): Promise<Readiness> {
  const parts: Record<string, string> = {}
  const register = await stateOfRegister(deps.register, 'serve')
  const index = await deps.recentStatus().catch(() => undefined)
  const { proofs, burns, anomalies } = await deps.register
    .snapshot((reads) => readFindings(reads, deps.ecosystem))
    .catch(() => NO_FINDINGS)
  Object.assign(parts, describeLogs(anomalies))
  for (const { token, detail } of burns) parts[`burns ${token}`] = `WRONG: ${detail}`
  // A chain may stall before its first block and have no status.
  const stalls = await deps.register.snapshot(readStalls).catch(() => new Map<number, Stall>())
  for (const chain of deps.ecosystem.chains) {
    const status = index?.chains.find((each) => each.chain.id === chain.id)
    const known =
      status === undefined ? unknownChain(register) : describeChain(status, unixNow(deps.clock))
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
  for (const progress of deps.indexing())
    if (progress.history !== null) parts[`pace ${progress.chain}`] = barOf(progress).detail
  Object.assign(parts, await describeNodes(deps))
  for (const { token, dataset, chain, reason, detail } of index
    ? nameUnknown(index, deps.ecosystem.tokens)
    : [])
    if (token !== null)
      parts[`${dataset} of ${token} on ${chain}`] = `unknown (${reason}): ${detail}`
  Object.assign(parts, await describePrices(deps, index))
  for (const { chain, dataset, fromBlock, toBlock } of index ? reindexingOf(index, deps.file) : [])
    parts[`${dataset} of ${chain.name}`] =
      `being read again; blocks ${fromBlock} to ${toBlock ?? 'the head'} are missing`
  const other = index?.otherParts.flatMap(({ fields }) => fields) ?? []
  if (other.length > 0)
    parts['ecosystem file'] =
      `the register was built from another file (${other.join(', ')}); start an index with this one`
  Object.assign(parts, await deps.jobStates().catch(() => ({})))
  const accounts = await deps.accountsState()
  const isRight =
    burns.length === 0 && !deps.ecosystem.chains.some(({ id }) => isUnusable(stalls.get(id)))
  const isIndexed = index !== undefined && other.length === 0
  const ready = accounts === 'ok' && register === 'ok' && isIndexed && isRight
  return { ready, parts: { ...parts, register, accounts } }
}

/** Notes about unlisted tokens apart: they need no action. */
function describeLogs(anomalies: readonly MappingAnomalies[]): Readonly<Record<string, string>> {
  const groups = Map.groupBy(anomalies, ({ mapping, chain, kind }) => {
    const of = kind === 'unlisted' ? 'of unlisted tokens for' : 'of'
    return `logs ${of} ${mapping} on ${chain}`
  })
  return Object.fromEntries(
    [...groups].map(([name, group]) => [name, group.map(describeAnomalies).join('; ')]),
  )
}

/** Shows the nodes of this process's index, or as the leading one noted them. */
async function describeNodes({ indexing, register, ecosystem, clock }: IndexGaugeDeps) {
  const own = indexing().flatMap(({ chain, endpoints }) =>
    endpoints.map(
      ({ host, state, reason }) => [chain, host, describe(state, reason ?? '')] as const,
    ),
  )
  const noted = own.length > 0 ? [] : await register.snapshot(readNodeStates).catch(() => [])
  const others = noted.flatMap(({ chainId, host, state, reason, notedUnix }) => {
    const chain = ecosystem.chains.find(({ id }) => id === chainId)?.name
    const isOld = unixNow(clock) - notedUnix > 2 * NOTED_SECONDS
    const since = isOld ? ` at ${toIso(notedUnix)}; no index has noted it since` : ''
    return chain === undefined ? [] : [[chain, host, `${describe(state, reason)}${since}`] as const]
  })
  return Object.fromEntries(
    [...own, ...others].map(([chain, host, words]) => [`node ${host} of ${chain}`, words]),
  )
}

/** Tokens whose price is unknown although the file has a source for it. */
async function describePrices(
  { register, ecosystem, prices }: IndexGaugeDeps,
  index: IndexStatus | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (index === undefined) return {}
  const priced = ecosystem.tokens.filter((token) => token.prices.length > 0)
  const found = await register
    .snapshot((reads) =>
      allEnded(priced.map(({ symbol }) => prices.latest(reads, symbol, index.asOfUnix))),
    )
    .catch(() => [])
  return Object.fromEntries(
    found.flatMap((latest, at) =>
      'gap' in latest
        ? [[`price of ${priced[at]?.symbol}`, `unknown (${latest.gap} of ${latest.symbol})`]]
        : [],
    ),
  )
}

function describe(state: string, reason: string): string {
  return reason === '' ? state : `${state}: ${reason}`
}

function unknownChain(register: string): string {
  return register === 'ok' ? 'not indexed yet' : `unknown: the register ${register}`
}

/** Replaces RPC hosts by their number in the file, and leaves out why a job failed. */
export function publicReadiness(readiness: Readiness, chains: readonly Chain[]): Readiness {
  const urls = chains.flatMap(({ rpcUrls }) => rpcUrls).map((url) => new URL(url))
  // Single-word hosts reveal nothing and may equal a chain's name.
  const names = urls.flatMap(({ host, hostname }, index) =>
    [host, hostname]
      .filter((each) => /[.:]/.test(each))
      .map((each): readonly [string, string] => [each, `#${index + 1}`]),
  )
  // One host may be the prefix of another.
  names.sort(([one], [other]) => other.length - one.length)
  const hide = (text: string) =>
    names.reduce((hidden, [host, name]) => hidden.replaceAll(host, name), text)
  const parts = Object.entries(readiness.parts).map(([name, state]) => [
    hide(name),
    name.startsWith('job ') ? state.replace(/( s ago): .*/s, '$1') : hide(state),
  ])
  return { ...readiness, parts: Object.fromEntries(parts) }
}

interface Findings {
  readonly proofs: ReadonlyMap<number, Proof>
  /** Burns above the minted supply, of tokens whose transfers match their contract's. */
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
