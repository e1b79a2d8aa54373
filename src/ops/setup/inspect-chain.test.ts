import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deployEcosystem } from '#test/deployed-ecosystem.ts'
import { startPlainChain } from '#test/plain-chain.ts'
import { draftFor } from '#test/setup/draft-harness.ts'

const chain = await startPlainChain(1_700_000_000)
after(() => chain.stop())
const { token, pools } = await deployEcosystem(chain.url)

test('a pool is drafted with a tenth of its dollars as the floor, and each price has its evidence', async () => {
  const { file, notes } = await draftFor(chain.url, token, pools)
  const prices = file.tokens.map(({ price }) => price)
  const floors = prices.map((price) => (Array.isArray(price) ? [] : price?.minLiquidityUsd))
  // 60,000 USD in HEAD/WETH, 30,000 in WETH/USDC; USDC is fixed.
  assert.deepEqual(floors, ['6000', '3000', undefined])
  assert.match(notes.get('tokens[0].price') ?? '', /about 60000 USD in it; minLiquidityUsd is/)
})
