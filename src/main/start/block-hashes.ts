import { RpcError } from '#chains/chain/rpc-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { type DepositReads, readBlockHash } from '#chains/datasets/deposits/queries.ts'
import type { BlockHashAt } from '#money/payments/deposit.ts'

/** Returns hashes from the index's recent blocks, else of headers that hash to them. */
export function blockHashes(reads: Pick<DepositReads, 'register' | 'payment'>): BlockHashAt {
  const { id: chainId, rpcUrls: urls } = reads.payment.chain
  const source = openRpcSource({ chainId, urls })
  return async (number) => {
    const remembered = await readBlockHash(reads, number)
    if (remembered !== undefined) return remembered
    try {
      const header = await source.header(number)
      if (header === undefined) return undefined
      await source.provenBlock(header, () => false)
      return header.hash
    } catch (error) {
      if (error instanceof RpcError) return undefined
      throw error
    }
  }
}
