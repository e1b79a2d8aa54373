import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { beginChain } from './built-chain.ts'
import { logOf } from './log-plans.ts'
import { serveChain } from './serve-chain.ts'

/** Enough receipts for tries with leaves, extensions and branches two levels deep. */
const TRANSACTIONS = [0, 1, 2, 3, 17, 130, 300]

test('every block of a provable chain is proven by its receipts, however many', async () => {
  const { grave } = addresses.base
  const plans = TRANSACTIONS.map((count) => ({
    logs: Array.from({ length: count }, (_, index) =>
      logOf.mint(grave, accounts.holder, BigInt(index)),
    ),
  }))
  const chain = beginChain(8453, 1_700_000_000, { isProvable: true }).add(...plans)
  const node = await serveChain(chain)
  try {
    const source = openRpcSource({ chainId: 8453, urls: [node.url] })
    for (const block of chain.blocks) {
      const { logs } = await source.provenBlock(block)
      assert.deepEqual(
        logs.map(({ txHash, logIndex, data }) => [txHash, logIndex, data]),
        block.logs.map(({ transactionHash, logIndex, data }) => [transactionHash, logIndex, data]),
      )
    }
  } finally {
    await node.stop()
  }
})
