import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { grave, holder } from '#test/local-addresses.ts'
import { proveStartBlocks } from './prove-ecosystem.ts'

/** The first transfer is in block 42. */
const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(41)
  .add({ logs: [logOf.mint(grave, holder, 1_000n)] })
  .addEmpty(100)

/** Checks a start block against a node that has states from `statesFrom` on. */
async function judge(startBlock: number, statesFrom = 0) {
  const node = await serveChain(chain)
  try {
    const ecosystem = localEcosystemAt({ base: node.url }, (file) => ({
      ...file,
      chains: file.chains.map((each) => ({ ...each, startBlock })),
    }))
    const chains = ecosystem.chains.filter(({ name }) => name === 'base')
    const sourceOf = (followed: (typeof chains)[number]): ChainSource => {
      const source = openSource(followed)
      return {
        ...source,
        async call(to, data, block = 0) {
          if (block < statesFrom) throw new RpcError('missing trie node')
          return source.call(to, data, block)
        },
      }
    }
    return await proveStartBlocks({ ...ecosystem, chains }, sourceOf).catch((error: Error) => error)
  } finally {
    await node.stop()
  }
}

for (const startBlock of [0, 1, 41, 42])
  test(`a start at block ${startBlock}, before any supply, passes`, async () => {
    assert.deepEqual(await judge(startBlock), new Map())
  })

for (const startBlock of [43, 44, 100, 142])
  test(`a start at block ${startBlock} is refused as too late, naming the latest block that works`, async () => {
    const error = await judge(startBlock)
    assert.ok(error instanceof Error)
    assert.equal(
      error.message,
      `chains[0].startBlock: ${startBlock} is too late: GRAVE on base had a supply before it, whose transfers would be missing; write 42 or an earlier block`,
    )
  })

test('if the node lacks old states, the error says so instead of naming a block', async () => {
  const error = await judge(100, 60)
  assert.ok(error instanceof Error)
  assert.match(error.message, /100 is too late: .*the node keeps no state old enough.*missing trie/)
})

test('a start is accepted unproven if the state before it is unavailable', async () => {
  const unproven = await judge(100, 120)
  assert.ok(unproven instanceof Map)
  assert.match(unproven.get('base') ?? '', /missing trie node/)
})
