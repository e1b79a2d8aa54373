import { RpcError } from '#chain/rpc-error.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { BlockHashAt } from '#payments/deposit.ts'

/** Asks a chain's nodes for block hashes. They are called upon only when a credit is in doubt. */
export function lateBlockHashes(chain: Chain): BlockHashAt {
  let opened: ReturnType<typeof open> | undefined
  const open = async () => {
    const { openRpcSource } = await import('#chain/rpc-source.ts')
    return openRpcSource({ chainId: chain.id, urls: chain.rpcUrls })
  }
  return async (number) => {
    opened ??= open()
    try {
      return (await (await opened).header(number))?.hash
    } catch (error) {
      if (error instanceof RpcError) return undefined
      throw error
    }
  }
}
