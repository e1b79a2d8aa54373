import { RpcError } from '#chains/chain/rpc-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { readBlockHash } from '#chains/datasets/deposits/queries.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Hash } from '#domain/address.ts'
import { paymentOf } from './offers.ts'

const sourceOf = oncePerContext((ctx) => {
  const { id: chainId, rpcUrls: urls } = paymentOf(ctx).chain
  return openRpcSource({ chainId, urls })
})

/**
 * Read from the index's recent blocks, else from a header that hashes to it. Undefined while unknown: only a
 * different hash proves that a block left the chain; a missing log does not.
 */
export async function blockHashAt(ctx: Context, number: number): Promise<Hash | undefined> {
  const recent = await readBlockHash(ctx.register, paymentOf(ctx).chain.id, number)
  if (recent !== undefined) return recent
  const source = sourceOf(ctx)
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
