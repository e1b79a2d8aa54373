import { RpcError } from '#chains/chain/rpc-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { readBlockHash } from '#chains/datasets/deposits/queries.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { BlockHashAt } from '#money/payments/deposit.ts'
import type { Engine } from '#store/engine.ts'

/** Returns hashes from the index's recent blocks, else of headers that hash to them. */
export function blockHashes(register: Engine, { id: chainId, rpcUrls: urls }: Chain): BlockHashAt {
  const source = openRpcSource({ chainId, urls })
  return async (number) => {
    const remembered = await readBlockHash(register, chainId, number)
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
