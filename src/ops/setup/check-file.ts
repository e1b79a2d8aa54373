import type { Address } from '#base/address.ts'
import { isObject } from '#base/json.ts'
import { formatDecimal } from '#base/money.ts'
import type { Clock } from '#base/time.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { ChainSource, SourceLog } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError, type Problem } from '#ecosystem/problem.ts'
import { ProofError, readSupply } from '#index/call-view.ts'
import { proveEcosystem, proveStartBlocks } from '#index/prove-ecosystem.ts'
import { describeError, openNode } from './chain-view.ts'
import { joinOutcomes, judgeMappings, type Outcome } from './check-mappings.ts'

interface CheckDeps {
  readonly clock: Clock
  onProgress(task: string, done: number, total: number): void
}

export async function checkFile(
  { clock, onProgress }: CheckDeps,
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
  const sourceOf = openSources(ecosystem)
  const steps: readonly (() => Promise<Partial<Outcome>>)[] = [
    async () => ({ warnings: await proveEcosystem(ecosystem, sourceOf) }),
    async () => {
      const unproven = await proveStartBlocks(ecosystem, sourceOf)
      const say = ([chain, reason]: [string, string]) =>
        `startBlock of ${chain}: no node has the state before it (${reason})`
      return { unchecked: [...unproven].map(say) }
    },
    () => judgeMappings(clock, ecosystem, sourceOf),
    () => judgeSupplies(ecosystem, sourceOf),
  ]
  let done = 0
  const outcomes = await Promise.all(
    steps.map(async (step) => {
      const outcome = await step().catch(toOutcome)
      done += 1
      onProgress('checking against the chains', done, steps.length)
      return outcome
    }),
  )
  return joinOutcomes([{ warnings: endpoints }, ...outcomes])
}

function toOutcome(error: unknown): Partial<Outcome> {
  if (error instanceof ProofError) return { errors: error.problems }
  if (error instanceof RpcError) return { unchecked: [error.message] }
  throw error
}

function openSources({ chains }: Ecosystem): (chain: Chain) => ChainSource {
  const sources = new Map(
    chains.map(({ id, rpcUrls }) => [id, openRpcSource({ chainId: id, urls: rpcUrls })]),
  )
  return ({ id }) => {
    const source = sources.get(id)
    if (source === undefined) throw new Error(`chain ${id} has no source`)
    return source
  }
}

/** Further back, an archive node has the state; near the head, any node. */
const SUPPLY_SPANS = [5_000, 100]

/** Supply and balances follow `Transfer` alone: warns of a token that mints or burns without it. */
async function judgeSupplies(
  { chains, tokens, primary, secondary }: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Partial<Outcome>> {
  const tracked = [primary, secondary].flatMap((token) => token ?? [])
  const judged = await Promise.all(
    tracked.flatMap((token) =>
      [...token.addresses].map(async ([name, address]) => {
        const chain = chains.find((each) => each.name === name)
        const change = chain && (await changeOfSupply(sourceOf(chain), chain, address))
        if (change === undefined || change.bySupply === change.byTransfers) return []
        const show = (amount: bigint) => formatDecimal(amount, token.decimals)
        const message = `in blocks ${change.from} to ${change.to} totalSupply() changed by ${show(change.bySupply)} and its Transfer events by ${show(change.byTransfers)}: what is minted or burned without a Transfer is not seen, so supply and market cap are wrong, and holders null once a balance falls below zero`
        return [{ field: `tokens[${tokens.indexOf(token)}].addresses.${name}`, message }]
      }),
    ),
  )
  return { warnings: judged.flat() }
}

async function changeOfSupply(source: ChainSource, { startBlock }: Chain, token: Address) {
  const head = await source.header('latest')
  if (head === undefined) return undefined
  const to = head.number
  let failure: RpcError | undefined
  for (const span of SUPPLY_SPANS) {
    const from = Math.max(startBlock, to - span)
    try {
      const before = await readSupply(source, token, from)
      const after = await readSupply(source, token, to)
      const filter = { addresses: [token], topics: [[TRANSFER_TOPIC]] }
      const logs = await source.logsInRange(filter, from + 1, to)
      const bySupply = after - before
      const minted = sumAmounts(logs.filter(({ topics }) => BigInt(topics[1] ?? 1) === 0n))
      const burned = sumAmounts(logs.filter(({ topics }) => BigInt(topics[2] ?? 1) === 0n))
      // Some contracts, such as WETH9, keep in totalSupply() what the zero address was sent.
      const byTransfers = bySupply === minted ? minted : minted - burned
      return { from: from + 1, to, bySupply, byTransfers }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      failure = error
    }
  }
  throw failure ?? new Error('no span of blocks was tried')
}

function sumAmounts(logs: readonly SourceLog[]): bigint {
  return logs.reduce((sum, { data }) => sum + BigInt(data === '0x' ? 0 : data.slice(0, 66)), 0n)
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
  const node = openNode(url)
  const useless = (message: string) => ({ message, isUsable: false })
  const doubtful = (message: string) => ({ message, isUsable: true })
  try {
    const id = Number(await node.ask('eth_chainId'))
    if (id !== chain.id)
      return useless(`serves chain ${id}, the file says ${chain.id}; correct the URL or the id`)
    const head = await node.ask('eth_getBlockByNumber', 'latest', false)
    const { number, timestamp } = isObject(head) ? head : {}
    if (Number(number) < chain.startBlock)
      return useless(
        `its head is block ${Number(number)}, below startBlock ${chain.startBlock}; correct startBlock, or the URL if the node lags`,
      )
    const ageSeconds = clock() / 1_000 - Number(timestamp)
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
