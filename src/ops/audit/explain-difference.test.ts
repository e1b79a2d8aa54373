import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ZERO_ADDRESS } from '#base/address.ts'
import { explainDifference } from '#ops/audit/prove-balances.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { grave, holder, operator } from '#test/local-addresses.ts'

/** The holder has 70 at the end, out of a supply of 100. */
const chain = beginChain(1, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, holder, 100n)] })
  .addEmpty(9)
  .add({ logs: [logOf.transfer(grave, holder, operator, 30n)] })
  .addEmpty(10)
const nodes = [await serveChain(chain), await serveChain(chain)]
const [whole, pruned] = nodes.map(({ url }) => url)
for (const node of nodes.slice(1)) node.faults.prunedBelow = 5
after(async () => {
  for (const node of nodes) await node.stop()
})

const explain = (urls: readonly (string | undefined)[], holder: `0x${string}`, onChain: bigint) => {
  const asked = { id: 1, rpcUrls: urls.filter((url) => url !== undefined) }
  return explainDifference(asked, { contract: grave, holder, onChain }, { from: 0, to: 20 })
}
const hostOf = (url = '') => new URL(url).host

for (const [figure, address, amount] of [
  ['a balance', holder, 70n],
  ['a supply', ZERO_ADDRESS, 100n],
] as const) {
  test(`${figure} is explained by the endpoint that has old logs, not by the one that lacks them`, async () => {
    assert.equal(
      await explain([pruned, whole], address, amount),
      `the transfers of ${hostOf(whole)} explain it, those of ${hostOf(pruned)} do not`,
    )
  })

  test(`${figure} that every endpoint explains is wrong in the register`, async () => {
    assert.match(await explain([whole], address, amount), /the register itself is wrong/)
  })

  test(`${figure} that no endpoint explains is the token's doing, or every node lacks logs`, async () => {
    assert.match(
      await explain([pruned, whole], address, amount + 1n),
      /without Transfer events .* or every endpoint lacks old history/,
    )
  })
}

test('endpoints that answer nothing explain nothing', async () => {
  assert.match(await explain(['http://127.0.0.1:1'], holder, 1n), /no endpoint returned/)
})
