import type { ChainSource } from '#chains/chain/chain-source.ts'
import { EndpointError } from '#chains/chain/endpoints/endpoint-error.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { type DepositReads, readBlockHash } from '#chains/datasets/deposits/queries.ts'
import type { Hash } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import type { BlockHashAt } from '#money/payments/deposit.ts'

/** Pause after a node failed to answer, since each timeout takes long. */
const SILENT_MS = 60_000

/** Returns hashes from the index's recent blocks, else those that all reachable nodes agree on. */
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
  const nodes = openRpcSource({ chainId, urls })
  return async (number) => {
    const remembered = await readBlockHash(reads, number)
    if (remembered !== undefined) return remembered
    const asked = nodes.each().filter(({ source }) => !isSilent(source))
    const answers = await Promise.all(asked.map(({ source }) => ask(source, number)))
    const [first, ...others] = answers.filter((answer) => answer !== 'silent')
    if (first === 'unproven' || others.some((other) => other !== first)) return undefined
    return first
  }
}

/** Proven by its header fields; `silent` if the node does not answer. */
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
