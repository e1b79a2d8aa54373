import { RpcError } from '../rpc-error.ts'
import { type CallSource, callSource } from './call-source.ts'
import { compareHeads, findForked, type Probe } from './compare-endpoints.ts'
import type { Endpoint } from './endpoint.ts'

/** Deeper than any known reorg. */
const DEEP_BLOCKS = 256

export async function probeRound(
  chainId: number,
  endpoints: readonly Endpoint[],
  how: { readonly background: boolean },
): Promise<void> {
  const withTags = endpoints.length > 1
  const asked = endpoints.map((endpoint) => probe(chainId, endpoint, { ...how, withTags }))
  const probes = (await Promise.all(asked)).filter((each) => each !== undefined)
  const ahead = compareHeads(probes)
  const forked = await forkedOf(chainId, ahead, how)
  for (const { endpoint } of ahead) {
    const reason = forked.get(endpoint)
    if (reason === undefined) endpoint.health.passed()
    else endpoint.health.setAside('forked', reason)
  }
}

export async function probe(
  chainId: number,
  endpoint: Endpoint,
  how: { readonly background: boolean; readonly withTags: boolean },
): Promise<Probe | undefined> {
  const source = probeSource(chainId, endpoint, how)
  try {
    const [served, head, finalized] = await Promise.all([
      source.askChainId(),
      source.header('latest'),
      how.withTags ? source.header('finalized').catch(() => undefined) : undefined,
    ])
    if (served !== chainId) {
      endpoint.health.setAside('wrong-chain', `serves chain ${served} instead of ${chainId}`)
      return undefined
    }
    endpoint.health.provenOfChain()
    return head && { endpoint, head, finalized }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    endpoint.health.missedProbe(error)
    return undefined
  }
}

/** Compares at a height that is final everywhere. */
async function forkedOf(
  chainId: number,
  probes: readonly Probe[],
  how: { readonly background: boolean },
): Promise<ReadonlyMap<Endpoint, string>> {
  if (probes.length < 2) return new Map()
  const heights = probes.map(
    ({ head, finalized }) => finalized?.number ?? head.number - DEEP_BLOCKS,
  )
  const height = Math.max(0, Math.min(...heights))
  const blocks = await Promise.all(
    probes.map(async ({ endpoint }) => {
      const ask = probeSource(chainId, endpoint, how).header(height)
      const block = await ask.catch(() => undefined)
      return block && { endpoint, block }
    }),
  )
  return findForked(blocks.filter((each) => each !== undefined))
}

function probeSource(
  chainId: number,
  endpoint: Endpoint,
  { background }: { readonly background: boolean },
): CallSource {
  return callSource(chainId, (call) => endpoint.call(call, { background }))
}
