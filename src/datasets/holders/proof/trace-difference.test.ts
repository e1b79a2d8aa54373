import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openRpcSource } from '#chain/rpc-source.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { grave, holder } from '#test/local-addresses.ts'
import { traceDifference } from './trace-difference.ts'

const whole = beginChain(1, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, holder, 100n)] })
  .addEmpty(3)
const witness = await serveChain(whole.addEmpty(1))
const inventive = await serveChain(whole.add({ logs: [logOf.mint(grave, holder, 7n)] }))
const source = openRpcSource({ chainId: 1, urls: [witness.url, inventive.url] })
after(async () => {
  for (const node of [witness, inventive]) await node.stop()
})

test('an endpoint that shows more transfers than the one that is right does not lack history', async () => {
  const difference = { token: grave, holder, stored: 107n, onChain: 100n }
  const trace = await traceDifference(source, difference, { from: 0, to: 6 })
  assert.deepEqual(trace.prunedHosts, [])
  assert.match(trace.cause, /the register itself is wrong/)
})
