import type { Clock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError, type Problem } from '#ecosystem/problem.ts'
import { ProofError } from '#index/call-view.ts'
import { proveEcosystem, proveStartBlocks } from '#index/prove-ecosystem.ts'
import { openSources } from '#main/run-index.ts'
import { describeError } from './chain-view.ts'
import { joinOutcomes, judgeMappings, type Outcome } from './check-mappings.ts'

export async function checkFile(
  clock: Clock,
  { file, offline }: { readonly file: string; readonly offline: boolean },
): Promise<Outcome> {
  const ecosystem = await loadEcosystem(file).catch((error: unknown) => {
    if (error instanceof EcosystemError) return error
    throw error
  })
  if (ecosystem instanceof EcosystemError) return joinOutcomes([{ errors: ecosystem.problems }])
  if (offline) return joinOutcomes([])
  const endpoints = await checkEndpoints(ecosystem.chains, clock)
  const useless = endpoints.filter(({ isUsable }) => !isUsable)
  const dead = ecosystem.chains.filter(({ rpcUrls }, index) =>
    rpcUrls.every((_, place) => useless.some(({ field }) => field === nameField(index, place))),
  )
  if (dead.length > 0) {
    const names = dead.map(({ name }) => name).join(', ')
    const unchecked = [`all else about the chains: ${names} cannot be asked`]
    return joinOutcomes([{ errors: useless, unchecked }])
  }
  const sourceOf = openSources(ecosystem, SILENT)
  const checks: readonly Promise<Partial<Outcome>>[] = [
    proveEcosystem(ecosystem, sourceOf).then((found) => ({ warnings: found })),
    checkStartBlocks(ecosystem, sourceOf),
    judgeMappings(clock, ecosystem, sourceOf),
  ]
  const outcomes = await Promise.all(checks.map((check) => check.catch(toOutcome)))
  return joinOutcomes([{ warnings: endpoints }, ...outcomes])
}

const SILENT = { debug() {}, info() {}, warn() {} }

async function checkStartBlocks(
  ecosystem: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Partial<Outcome>> {
  const unproven = await proveStartBlocks(ecosystem, sourceOf)
  const say = ([chain, reason]: readonly [string, string]) =>
    `startBlock of ${chain}: no node has the state before it (${reason})`
  return { unchecked: [...unproven].map(say) }
}

function toOutcome(error: unknown): Partial<Outcome> {
  if (error instanceof ProofError) return { errors: error.problems }
  if (error instanceof RpcError) return { unchecked: [error.message] }
  throw error
}

interface EndpointProblem extends Problem {
  /** False if it answers nothing, or for another chain. */
  readonly isUsable: boolean
}

/** Asks each endpoint by itself: the others would cover for one that is wrong. */
export async function checkEndpoints(
  chains: readonly Chain[],
  clock: Clock,
): Promise<readonly EndpointProblem[]> {
  const judged = await Promise.all(
    chains.flatMap((chain, index) =>
      chain.rpcUrls.map(async (url, place) => {
        const problem = await judgeEndpoint(chain, url, clock)
        return problem === undefined ? [] : [{ field: nameField(index, place), ...problem }]
      }),
    ),
  )
  return judged.flat()
}

function nameField(chain: number, place: number): string {
  return `chains[${chain}].rpcUrls[${place}]`
}

/** Blocks may be this far ahead of this machine's clock. */
const CLOCK_SECONDS = 5

async function judgeEndpoint(
  chain: Chain,
  url: string,
  clock: Clock,
): Promise<Omit<EndpointProblem, 'field'> | undefined> {
  const source = openRpcSource({ chainId: chain.id, urls: [url] })
  const useless = (message: string) => ({ message, isUsable: false })
  const doubtful = (message: string) => ({ message, isUsable: true })
  try {
    const id = await source.askChainId()
    if (id !== chain.id)
      return useless(`serves chain ${id}, the file says ${chain.id}; correct the URL or the id`)
    const head = await source.header('latest')
    if (head === undefined) return useless('knows no block; start the node')
    const { number, timestamp } = head
    if (number < chain.startBlock)
      return useless(
        `its head is block ${number}, below startBlock ${chain.startBlock}; correct startBlock, or the URL if the node lags`,
      )
    const ageSeconds = clock() / 1_000 - timestamp
    if (ageSeconds > chain.staleAfterSeconds)
      return doubtful(
        `its head is ${Math.round(ageSeconds)} s old: the node lags, or the chain stands still`,
      )
    if (ageSeconds < -CLOCK_SECONDS)
      return doubtful(
        `its head is ${Math.round(-ageSeconds)} s in the future: this machine's clock is slow; run NTP`,
      )
    return undefined
  } catch (error) {
    return useless(`does not answer (${describeError(error)}); check the URL, or start the node`)
  }
}
