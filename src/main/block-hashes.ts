import { RpcError } from '#chain/rpc-error.ts'
import { type DepositReads, readBlockHash } from '#datasets/deposits/queries.ts'
import type { BlockHashAt } from '#payments/deposit.ts'

/**
 * Hashes of the payment chain's blocks: of those that the index remembers, else of those that a node
 * tells. Nodes are called upon only when a credit is in doubt.
 */
export function blockHashes(reads: Pick<DepositReads, 'register' | 'payment'>): BlockHashAt {
  const { id: chainId, rpcUrls: urls } = reads.payment.chain
  let opened: ReturnType<typeof open> | undefined
  const open = async () => {
    const { openRpcSource } = await import('#chain/rpc-source.ts')
    return openRpcSource({ chainId, urls })
  }
  return async (number) => {
    const remembered = await readBlockHash(reads, number)
    if (remembered !== undefined) return remembered
    opened ??= open()
    try {
      return (await (await opened).header(number))?.hash
    } catch (error) {
      if (error instanceof RpcError) return undefined
      throw error
    }
  }
}
