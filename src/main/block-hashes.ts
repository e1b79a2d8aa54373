import type { ChainSource } from '#chain/chain-source.ts'
import { EndpointError } from '#chain/endpoints/endpoint-error.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { type DepositReads, readBlockHash } from '#datasets/deposits/queries.ts'
import type { Hash } from '#domain/address.ts'
import type { Clock } from '#lib/clock.ts'
import type { BlockHashAt } from '#payments/deposit.ts'

/** A node that could not be asked is left alone for this time, since it may take long to say nothing. */
const SILENT_MS = 60_000

/**
 * Hashes of the payment chain's blocks: of those that the index remembers, else of those of which all
 * nodes that can be asked prove the same. Nodes are called upon only when a credit is in doubt.
 */
export function blockHashes(
  reads: Pick<DepositReads, 'register' | 'payment'>,
  clock: Clock,
): BlockHashAt {
  const { id: chainId, rpcUrls: urls } = reads.payment.chain
  const silentAtMs = new Map<ChainSource, number>()
  const isSilent = (source: ChainSource) => {
    const atMs = silentAtMs.get(source)
    return atMs !== undefined && Math.abs(clock() - atMs) < SILENT_MS
  }
  const ask = async (source: ChainSource, number: number) => {
    const answer = await provenHash(source, number)
    if (answer === 'silent') silentAtMs.set(source, clock())
    return answer
  }
  let opened: ReturnType<typeof open> | undefined
  const open = async () => {
    const { openRpcSource } = await import('#chain/rpc-source.ts')
    return openRpcSource({ chainId, urls })
  }
  return async (number) => {
    const remembered = await readBlockHash(reads, number)
    if (remembered !== undefined) return remembered
    opened ??= open()
    const nodes = (await opened).each().filter(({ source }) => !isSilent(source))
    const answers = await Promise.all(nodes.map(({ source }) => ask(source, number)))
    const [first, ...others] = answers.filter((answer) => answer !== 'silent')
    if (first === 'unproven' || others.some((other) => other !== first)) return undefined
    return first
  }
}

/** What one node proves by the header's own fields; a node that cannot be asked is silent. */
async function provenHash(
  source: ChainSource,
  number: number,
): Promise<Hash | 'unproven' | 'silent'> {
  try {
    const header = await source.header(number)
    if (header === undefined) return 'unproven'
    await source.provenBlock(header, () => false)
    return header.hash
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return error instanceof EndpointError && error.kind === 'unproven' ? 'unproven' : 'silent'
  }
}
