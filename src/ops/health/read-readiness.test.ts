import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { publicReadiness } from './read-readiness.ts'

test('the public readiness numbers RPC endpoints, names no host and gives no reason of a failed job', () => {
  const chain = (...rpcUrls: readonly string[]): Chain => ({
    ...{ name: 'base', id: 8453, rpcUrls, explorerUrl: null, startBlock: 0, pollIntervalMs: 1 },
    ...{ finality: 'tag', staleAfterSeconds: 60, proofs: 'every' },
  })
  const chains = [
    chain('https://rpc.example:8545/v2/x', 'http://10.0.0.1:854'),
    chain('http://10.0.0.1:8545', 'http://base'),
  ]
  const parts = {
    'node rpc.example:8545 of base': 'failing: getaddrinfo ENOTFOUND rpc.example',
    'node 10.0.0.1:8545 of base': 'ok',
    'chain base': 'live; stalled: 10.0.0.1:854 lacks logs',
    'job payments': 'LATE (stay pending): last success 90 s ago; failed 1 s ago: secret',
    accounts: 'ok',
  }
  assert.deepEqual(publicReadiness({ ready: true, parts }, chains), {
    ready: true,
    parts: {
      'node #1 of base': 'failing: getaddrinfo ENOTFOUND #1',
      'node #3 of base': 'ok',
      'chain base': 'live; stalled: #2 lacks logs',
      'job payments': 'LATE (stay pending): last success 90 s ago; failed 1 s ago',
      accounts: 'ok',
    },
  })
})
