import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { chainIds } from '#devnet/addresses.ts'
import { ProofError } from '#index/call-view.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { proveEcosystem } from './prove-ecosystem.ts'

const [base, ethereum] = await Promise.all(
  [chainIds.base, chainIds.ethereum].map((id) =>
    serveChain(beginChain(id, 1_700_000_000).addEmpty(20)),
  ),
)
assert.ok(base !== undefined && ethereum !== undefined)
after(() => Promise.all([base.stop(), ethereum.stop()]))
beforeEach(() => {
  for (const node of [base, ethereum]) Object.assign(node.faults, noFaults())
})

/** The error message; empty if accepted. */
async function refusalOf(finality: 'tag' | number = 'tag'): Promise<string> {
  const urls = { base: base?.url ?? '', ethereum: ethereum?.url ?? '' }
  const ecosystem = localEcosystemAt(urls, (file) => ({
    ...file,
    chains: file.chains.map((chain) => ({ ...chain, finality })),
    // No block has an event of a price.
    tokens: file.tokens.map(({ price: _, ...token }) => token),
    gate: 'open',
  }))
  return proveEcosystem(ecosystem, openSource).then(
    () => '',
    (error: Error) => {
      assert.ok(error instanceof ProofError, String(error))
      return error.message
    },
  )
}

const DEPTH = /write the number of blocks after which a block of base is final, such as 256$/

test('a node that refuses the finality tags is reported at the start, with a depth to write', async () => {
  base.faults.tags = 'unsupported'
  const message = await refusalOf()
  assert.match(message, /^chains\[0\]\.finality: is "tag", but the node refuses the block "safe"/)
  assert.match(message, /127\.0\.0\.1:\d+ eth_getBlockByNumber: .*invalid block tag/)
  assert.match(message, DEPTH)
  assert.equal(await refusalOf(64), '')
})

test('a node that answers null for the finality tags is reported at the start', async () => {
  base.faults.tags = 'unknown'
  const message = await refusalOf()
  assert.match(message, /^chains\[0\]\.finality: .* answers null for the block "finalized"/)
  assert.match(message, DEPTH)
})

test('a refused eth_call is reported with the text of the node, not as wrong decimals', async () => {
  base.faults.callRefusal = { code: -32_004, message: 'eth_call is not part of your plan' }
  const message = await refusalOf()
  assert.match(
    message,
    /^tokens\[0\]\.decimals: cannot be checked, since decimals\(\) could not be/,
  )
  assert.match(
    message,
    /127\.0\.0\.1:\d+ eth_call: eth_call is not part of your plan \(code -32004\)/,
  )
  assert.doesNotMatch(message, /no readable/)
})

test('a contract without decimals is reported as such', async () => {
  base.faults.callRefusal = { code: 3, message: 'execution reverted' }
  assert.match(await refusalOf(), /neither decimals\(\) nor totalSupply\(\)/)
})
