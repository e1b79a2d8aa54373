import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { BlockHeader, BlockRef } from '#base/chain.ts'
import { type BuiltChain, beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import type { ChainEvent, ChainSource, Position } from './chain-source.ts'
import { DeepReorgError, followChain } from './follow.ts'
import { openRpcSource } from './rpc-source.ts'

const first = beginChain(1, 1_700_000_000).addEmpty(40)
const finalDepth = 8
const node = await serveChain(first, { finalDepth })
const source = openRpcSource({ chainId: 1, urls: [node.url] })
after(() => node.stop())
beforeEach(() => {
  node.chain = first
  Object.assign(node.faults, noFaults())
})

/** Follows the served chain from a position, with a chain's unfinal blocks in store. */
function followFrom(
  position: Position | undefined,
  stored: BuiltChain = first,
  finality: 'tag' | number = 'tag',
  startBlock = 0,
  from: ChainSource = source,
): Promise<ChainEvent> {
  const oldest = stored.head.number - finalDepth
  return followChain(
    {
      source: from,
      filters: [],
      startBlock,
      finality,
      proofs: 'deposits',
      stored: async (number): Promise<BlockRef | undefined> =>
        number < oldest ? undefined : stored.blocks[number],
    },
    position,
  )
}

test('history comes first, up to well below the newest final block', async () => {
  node.chain = first.addEmpty(100)
  const event = await followFrom(undefined)
  assert.ok(event.kind === 'history')
  assert.deepEqual([event.from, event.to], [0, 68])
  assert.deepEqual([event.tip.safe, event.tip.finalized], [136, 132])
})

test('blocks short of the head make nothing final', async () => {
  node.chain = first.addEmpty(100)
  const event = await followFrom(node.chain.at(68))
  assert.ok(event.kind === 'blocks')
  assert.deepEqual([event.blocks.length, event.tip.finalized], [64, 0])
})

test('a node that is of another chain now is not followed', async () => {
  node.chain = beginChain(1_337, 1_700_000_000).addEmpty(60)
  await assert.rejects(followFrom(first.at(40)), /chain 1337/)
})

test('after history come blocks, each the child of the one before', async () => {
  const event = await followFrom(first.at(32))
  assert.ok(event.kind === 'blocks')
  assert.deepEqual(
    event.blocks.map(({ header }) => header.number),
    [33, 34, 35, 36, 37, 38, 39, 40],
  )
})

test('a chain without finality tags is final as deep as it is said to be', async () => {
  const event = await followFrom(undefined, first, 5)
  assert.deepEqual([event.tip.finalized, event.tip.safe], [35, 35])
})

for (let depth = 1; depth <= finalDepth; depth += 1)
  test(`a reorganisation ${depth} deep leads back to the last common block`, async () => {
    node.chain = first.fork(40 - depth).addEmpty(depth + 1)
    const event = await followFrom(first.at(40))
    assert.ok(event.kind === 'reorg')
    assert.equal(event.ancestor.hash, first.at(40 - depth).hash)
  })

test('another block at the same height is a reorganisation', async () => {
  node.chain = first.fork(39).add({ secondsApart: 3 })
  const event = await followFrom(first.at(40))
  assert.ok(event.kind === 'reorg')
  assert.equal(event.ancestor.number, 39)
})

test('a fork of a fork leads back to the last block that all share', async () => {
  const second = first.fork(36).addEmpty(5)
  node.chain = second.fork(38).addEmpty(6)
  const event = await followFrom(second.head, second)
  assert.ok(event.kind === 'reorg')
  assert.equal(event.ancestor.hash, second.at(38).hash)
})

test('a reorganisation of final blocks stops with an error that says what to check', async () => {
  node.chain = first.fork(20).addEmpty(25)
  await assert.rejects(followFrom(first.at(40)), DeepReorgError)
  await assert.rejects(followFrom(first.at(40)), /check the endpoint/)
})

test('a node that lags behind changes nothing', async () => {
  node.faults.headNumber = 37
  const event = await followFrom(first.at(40))
  assert.ok(event.kind === 'behind')
  assert.equal(event.forked, false)
})

test('a shorter chain of other blocks is told from a lagging node', async () => {
  node.chain = first.fork(35).addEmpty(2)
  const event = await followFrom(first.at(40))
  assert.ok(event.kind === 'behind')
  assert.equal(event.forked, true)
})

test('a block below the head that the node does not know is asked for again', async () => {
  node.faults.nullBlocks.add(35)
  await assert.rejects(followFrom(first.at(32)), /does not know a block below its head/)
})

test('a chain that has not reached its first block is waited for', async () => {
  const event = await followFrom(undefined, first, 'tag', first.head.number + 1)
  assert.equal(event.kind, 'idle')
  node.chain = first.addEmpty(1)
  const begun = await followFrom(undefined, first, 'tag', first.head.number + 1)
  assert.equal(begun.kind, 'blocks')
})

test('a head that the index stands on is idle', async () => {
  assert.equal((await followFrom(first.at(40))).kind, 'idle')
})

/** Two nodes: this one knows the answer to one tag, the served one answers everything else. */
function withTag(tag: 'latest' | 'finalized', answer: BlockHeader): ChainSource {
  return { ...source, header: (block) => (block === tag ? resolved(answer) : source.header(block)) }
}

const resolved = async (header: BlockHeader) => header

for (const at of [40, 36])
  test(`a final block above the head of a lagging node is not taken for a fork, from block ${at}`, async () => {
    const ahead = withTag('finalized', first.addEmpty(3).head)
    const event = await followFrom(first.at(at), first, 'tag', 0, ahead)
    assert.equal(event.kind, at === 40 ? 'idle' : 'blocks')
    assert.deepEqual([event.tip.head.number, event.tip.safe, event.tip.finalized], [40, 0, 0])
  })

test('a final block that is not on the branch of the head is refused', async () => {
  const other = withTag('finalized', first.fork(30).addEmpty(5).head)
  await assert.rejects(
    followFrom(first.at(32), first, 'tag', 0, other),
    /the final block 35 is not on the branch of the head/,
  )
})

test('nodes with two blocks at the height of the index are reported as such', async () => {
  const other = first.fork(39).add({ secondsApart: 3 }).head
  await assert.rejects(
    followFrom(first.at(40), first, 'tag', 0, withTag('latest', other)),
    new RegExp(`block 40 is ${other.hash} at the head, but ${first.at(40).hash} in the index`),
  )
})
