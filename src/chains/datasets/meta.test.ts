import assert from 'node:assert/strict'
import { test } from 'node:test'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import type { ChainStatus } from '#chains/indexer/status.ts'
import { buildMeta } from './meta.ts'

const ecosystem = parseEcosystem('local', localEcosystem)
const [chain] = ecosystem.chains

function gapOf(startBlock: number, read: number, newestFrom: number) {
  assert.ok(chain !== undefined)
  const position = { number: read, hash: '0x', timestamp: -1 } as const
  const status: ChainStatus = {
    chain: { ...chain, startBlock },
    blockNumber: 900,
    blockHash: '0x',
    blockTimeUnix: 2_000,
    headNumber: 900,
    safeNumber: 890,
    finalizedNumber: 880,
    backfill: {
      newestFrom: { number: newestFrom, timestamp: 1_000 },
      read: position,
      folded: position,
      datasets: null,
    },
    stall: null,
    timesForgotten: 0,
  }
  const index = {
    chains: [status],
    unread: [],
    parts: [],
    otherParts: [],
    unknown: [],
    asOfUnix: 2_000,
    revision: '',
  }
  const state = { status: index, nowUnix: 2_000, revision: '' }
  return buildMeta(ecosystem, state, {}).chains[0]?.gap
}

test('a gap names the blocks that are missing', () => {
  assert.deepEqual(gapOf(100, 99, 300), { fromBlock: 100, toBlock: 299, untilUnix: 1_000 })
})

test('a gap is null if no block is missing, never inverted', () => {
  assert.equal(gapOf(300, 299, 300), null)
  assert.equal(gapOf(100, 299, 300), null)
  assert.equal(gapOf(100, 450, 300), null)
})
