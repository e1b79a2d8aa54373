import type { BlockHeader } from '#domain/chain.ts'
import { RpcError } from '../rpc-error.ts'
import { type CallSource, callSource } from './call-source.ts'
import type { Endpoint } from './endpoint.ts'

export interface Probe {
  readonly endpoint: Endpoint
  readonly head: BlockHeader
}

/** More than the usual propagation delay. */
const LAG_BLOCKS_MAX = 50
const LAG_SECONDS_MAX = 30

const LAG_BLOCKS_MIN = 3

export async function probeRound(
  chainId: number,
  endpoints: readonly Endpoint[],
  how: { readonly background: boolean },
): Promise<void> {
  const asked = endpoints.map((endpoint) => probe(chainId, endpoint, how))
  const probes = (await Promise.all(asked)).filter((each) => each !== undefined)
  for (const { endpoint } of compareHeads(probes)) endpoint.health.passed()
}

export async function probe(
  chainId: number,
  endpoint: Endpoint,
  how: { readonly background: boolean },
): Promise<Probe | undefined> {
  const source = probeSource(chainId, endpoint, how)
  try {
    const [served, head] = await Promise.all([source.askChainId(), source.header('latest')])
    if (served !== chainId) {
      endpoint.health.setAside('wrong-chain', `serves chain ${served} instead of ${chainId}`)
      return undefined
    }
    endpoint.health.provenOfChain()
    return head && { endpoint, head }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    endpoint.health.missedProbe(error)
    return undefined
  }
}

function compareHeads(probes: readonly Probe[]): readonly Probe[] {
  const best = probes.reduce<Probe | undefined>(
    (first, each) => (first === undefined || each.head.number > first.head.number ? each : first),
    undefined,
  )
  if (best === undefined) return []
  return probes.filter(({ endpoint, head }) => {
    const blocks = best.head.number - head.number
    const seconds = best.head.timestamp - head.timestamp
    endpoint.health.lagBlocks = blocks
    const isNear = blocks < LAG_BLOCKS_MIN || seconds <= LAG_SECONDS_MAX
    if (isNear && blocks <= LAG_BLOCKS_MAX) return true
    const reason = `${blocks} blocks (${seconds} s) behind ${best.endpoint.host}`
    endpoint.health.setAside('lagging', reason)
    return false
  })
}

function probeSource(
  chainId: number,
  endpoint: Endpoint,
  { background }: { readonly background: boolean },
): CallSource {
  return callSource(chainId, (call) => endpoint.call(call, { background }))
}
