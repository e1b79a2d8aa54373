import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { proveStartBlocks } from '#datasets/holders/proof/prove-start-blocks.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError, type Problem } from '#ecosystem/problem.ts'
import { repeatedBurns } from '#ecosystem/repeated-burns.ts'
import { selectorsOf } from '#indexer/decode-event.ts'
import { ProofError } from '#indexer/proof-error.ts'
import { proveEcosystem } from '#indexer/prove-ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import { type Mapping, mappingsOf } from '#main/mappings.ts'
import { scanBack } from './scan-back.ts'

export interface CheckedFile {
  readonly file: string
  /** Mistakes: the service would refuse to start. */
  readonly errors: readonly Problem[]
  /** Probably not meant. */
  readonly warnings: readonly Problem[]
  /** Why something could not be checked, such as a node that does not answer. */
  readonly unchecked: readonly string[]
}

export interface CheckDeps {
  readonly clock: Clock
  onProgress(task: string, done: number, total: number): void
}

/** The file alone, then against the chains; all findings at once. */
export async function checkFile(
  deps: CheckDeps,
  { file, offline }: { readonly file: string; readonly offline: boolean },
): Promise<CheckedFile> {
  const ecosystem = await loadEcosystem(file).catch((error: unknown) => {
    if (error instanceof EcosystemError) return error
    throw error
  })
  if (ecosystem instanceof EcosystemError)
    return { file, errors: ecosystem.problems, warnings: [], unchecked: [] }
  const repeated = repeatedBurns(ecosystem).map((message) => ({ field: 'burns', message }))
  if (offline) return { file, errors: [], warnings: repeated, unchecked: [] }
  const sourceOf = openSources(ecosystem)
  const steps = [
    async () => {
      await proveEcosystem(ecosystem, sourceOf)
      return {}
    },
    async () => toUnchecked(await proveStartBlocks(ecosystem, sourceOf)),
    () => findUnmatched(deps, ecosystem, sourceOf),
  ]
  let done = 0
  const outcomes = await Promise.all(
    steps.map(async (step) => {
      const outcome = await settle(step)
      done += 1
      deps.onProgress('checking against the chains', done, steps.length)
      return outcome
    }),
  )
  return {
    file,
    errors: outcomes.flatMap(({ errors = [] }) => errors),
    warnings: [...repeated, ...outcomes.flatMap(({ warnings = [] }) => warnings)],
    // Two steps may meet the same silent node.
    unchecked: [...new Set(outcomes.flatMap(({ unchecked = [] }) => unchecked))],
  }
}

type Outcome = Partial<Pick<CheckedFile, 'errors' | 'warnings' | 'unchecked'>>

async function settle(step: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ProofError) return { errors: error.problems }
    if (error instanceof RpcError) return { unchecked: [error.message] }
    throw error
  }
}

export function openSources({ chains }: Ecosystem): (chain: Chain) => ChainSource {
  const sources = new Map(
    chains.map(({ id, rpcUrls }) => [id, openRpcSource({ chainId: id, urls: rpcUrls })]),
  )
  return ({ id }) => {
    const source = sources.get(id)
    if (source === undefined) throw new Error(`chain ${id} has no source`)
    return source
  }
}

function toUnchecked(unproven: ReadonlyMap<string, string>): Outcome {
  return {
    unchecked: [...unproven].map(
      ([chain, reason]) => `startBlock of ${chain}: no node has the state before it (${reason})`,
    ),
  }
}

/** A mapping may be right without a log yet. */
const SEARCH_MS = 10_000

async function findUnmatched(
  { clock }: CheckDeps,
  ecosystem: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Outcome> {
  const warnings = await Promise.all(
    mappingsOf(ecosystem).map((each) => judge(each, sourceOf(each.source.chain), clock)),
  )
  return { warnings: warnings.filter((each) => each !== undefined) }
}

async function judge(
  { name, source }: Mapping,
  chain: ChainSource,
  clock: Clock,
): Promise<Problem | undefined> {
  const head = await chain.header('latest')
  if (head === undefined) return undefined
  const { logs, from } = await scanBack(
    { source: chain, clock },
    {
      filter: filterOf(source),
      from: source.chain.startBlock,
      to: head.number,
      enough: 1,
      untilMs: clock() + SEARCH_MS,
    },
  )
  if (logs.length > 0) return undefined
  return {
    field: name,
    message: `no log in blocks ${from} to ${head.number} matches; see what the contract emits with "sexton explain ${name}"`,
  }
}

/** The node filters by event and by the accepted addresses. */
export function filterOf(source: Mapping['source']) {
  const [selector] = selectorsOf([source])
  return {
    addresses: [source.address],
    topics: [[source.topic0], ...(selector?.arguments ?? [])],
  }
}
