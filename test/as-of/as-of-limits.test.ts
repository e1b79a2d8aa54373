import assert from 'node:assert/strict'
import { writeBackfill } from '#chains/indexer/backfill/backfill-row.ts'
import { storeBlocks } from '#chains/indexer/positions.ts'
import { isRefusal } from '#domain/refusal.ts'
import type { Route } from '#route/route.ts'
import { live } from '#test/chain-builder/random-life.ts'
import { forgetChain } from '#test/forget-chain.ts'
import { callRoute, readRoute, refusalOf } from '#test/route-reader.ts'
import { advanceAll, stepIndex } from '#test/stepped-index.ts'
import {
  answerTo,
  busyBlock,
  grow,
  indexAll,
  useStores,
  type World,
  worldTest,
} from './as-of-harness.ts'

useStores()

const IMMUTABLE = 'private, max-age=31536000, immutable'

worldTest('a point that is not known is refused with what is', async (world) => {
  grow(world, 'base', 12, 1)
  grow(world, 'ethereum', 10, 1)
  await indexAll(world)
  const [routes = []] = world.routes
  const reasons = await reasonsOf(routes, [
    'asOfBlock=base:13',
    'asOfBlock=base:3,ethereum:11',
    'asOfBlock=base:3&asOfUnix=1700000000',
    'asOfBlock=base:3&finality=finalized',
    'asOfBlock=solana:3',
    'asOfBlock=base:3,8453:4',
    'asOfBlock=base',
    'asOfBlock=base:03',
    'asOfUnix=2100-01-01',
    'asOfUnix=yesterday',
    'asOfUnix=1600000000',
    'finality=safe',
  ])
  assert.deepEqual(reasons, [
    'asOfBlock names base:13, but the index is at base:12, ethereum:10',
    'asOfBlock names ethereum:11, but the index is at base:12, ethereum:10',
    'asOfBlock cannot be combined with asOfUnix',
    'asOfBlock cannot be combined with finality',
    'asOfBlock names "solana", which is not a chain of this service',
    'asOfBlock names a chain twice',
    'asOfBlock must be <chain>:<block number>, several with a comma between, not "base"',
    'asOfBlock must be <chain>:<block number>, several with a comma between, not "base:03"',
    'asOfUnix lies in the future',
    'asOfUnix must be Unix seconds, a UTC day or a time of RFC 3339',
    'asOfUnix is 2020-09-13T12:26:40Z, before the first block of every chain',
    'finality must be latest or finalized',
  ])
})

worldTest('chains go by name, id or CAIP-2 and in one order, and are shown so', async (world) => {
  grow(world, 'base', 3, 1)
  grow(world, 'ethereum', 3, 1)
  await indexAll(world)
  for (const point of ['ethereum:1,base:2', '1:1,eip155:8453:2', 'BASE:2,Ethereum:1'])
    assert.deepEqual((await metaAt(world, `asOfBlock=${point}`)).query, {
      token: 'GRAVE',
      asOfBlock: 'base:2,ethereum:1',
    })
  const { query } = await metaAt(world, '')
  assert.deepEqual(query, { token: 'GRAVE' })
})

worldTest(
  'an answer is immutable once all of its blocks are final, and not before',
  async (world) => {
    grow(world, 'base', 12, 1)
    grow(world, 'ethereum', 12, 1)
    await indexAll(world)
    const point = 'asOfBlock=base:7'
    assert.deepEqual(await finalAt(world, point), [false, false])
    assert.equal(await cacheControlAt(world, point), undefined)
    grow(world, 'base', 4, 1)
    await indexAll(world)
    // The last block of ethereum up to then is certain once a later one is final.
    assert.deepEqual(await finalAt(world, point), [true, false])
    assert.equal(await cacheControlAt(world, point), undefined)
    grow(world, 'ethereum', 4, 1)
    await indexAll(world)
    assert.deepEqual(await finalAt(world, point), [true, true])
    assert.equal(await cacheControlAt(world, point), IMMUTABLE)
  },
)

worldTest(
  'a final block is not final while a price of its chain may still value an event',
  async (world) => {
    grow(world, 'ethereum', 20, 1)
    grow(world, 'base', 12, 1)
    await indexAll(world)
    // Base, where the prices are, is final long before these events of ethereum.
    const point = 'asOfBlock=base:4,ethereum:10'
    assert.deepEqual(await finalAt(world, point), [false, true])
    grow(world, 'base', 10, 1)
    await indexAll(world)
    assert.deepEqual(await finalAt(world, point), [true, true])
  },
)

worldTest(
  'a conditional request is answered from the ETag of a final answer only',
  async (world) => {
    for (const name of ['base', 'ethereum'] as const) grow(world, name, 20, 1)
    await indexAll(world)
    const [routes = []] = world.routes
    const route = routes.find(({ path }) => path === '/api/burns/total')
    const revisionOf = (point: string) => route?.revision?.({ asOfBlock: point })
    const final = await answerTo(routes, '/api/burns/total?asOfBlock=base:3')
    assert.deepEqual(await revisionOf('base:3'), { text: final.revision, cacheControl: IMMUTABLE })
    const open = await answerTo(routes, '/api/burns/total?asOfBlock=base:19')
    assert.notEqual((await revisionOf('base:19'))?.text, open.revision)
    grow(world, 'base', 5, 1)
    await indexAll(world)
    assert.equal((await revisionOf('base:3'))?.text, final.revision)
  },
)

worldTest(
  'a block below the first one that is read has zeros',
  async (world) => {
    grow(world, 'base', 20, 1)
    grow(world, 'ethereum', 20, 1)
    await indexAll(world)
    for (const routes of world.routes) {
      const path = '/api/burns/total?asOfBlock=base:4,ethereum:0'
      const { data } = await readRoute(routes, path)
      const { totalBurned, burnCount, pctOfMinted, lastBurnUnix } = data as Record<string, unknown>
      assert.deepEqual(
        { totalBurned, burnCount, pctOfMinted, lastBurnUnix },
        {
          ...{ totalBurned: '0', burnCount: 0, pctOfMinted: 0, lastBurnUnix: null },
        },
      )
    }
  },
  { baseFrom: 6 },
)

worldTest(
  'a chain that had no block yet is shown without one, and counts nothing',
  async (world) => {
    grow(world, 'base', 20, 1)
    grow(world, 'ethereum', 20, 1)
    await indexAll(world)
    const { blocks } = await metaAt(world, 'asOfBlock=base:2')
    const [, ethereum] = blocks as readonly Record<string, unknown>[]
    const none = { blockNumber: null, blockHash: null, blockTimeUnix: null }
    assert.deepEqual(ethereum, { chain: 'ethereum', chainId: 1, ...none, final: true })
  },
  { ethereumLater: 100_000 },
)

worldTest(
  'rankings leave out wallets that were active only on a chain without a block yet',
  async (world) => {
    grow(world, 'base', 3, 1)
    grow(world, 'ethereum', 20, 1)
    await indexAll(world)
    for (const routes of world.routes) {
      const at = async (path: string) => (await readRoute(routes, `${path}asOfBlock=base:1`)).data
      const digs = (await at('/api/grave-digs?')) as readonly { readonly digger: string }[]
      const leaders = (await at('/api/grave-digs/leaderboard?')) as readonly {
        readonly address: string
        readonly digCount: number
      }[]
      assert.equal(
        leaders.reduce((sum, { digCount }) => sum + digCount, 0),
        digs.length,
      )
      const totals = (await at('/api/dividends/total?')) as Record<string, unknown>
      assert.deepEqual([totals.payoutCount, totals.recipientCount], [1, 1])
    }
  },
  { ethereumLater: 100_000 },
)

worldTest(
  'nothing is answered as of a block while history of it is missing or read again',
  async (world) => {
    grow(world, 'base', 20, 1)
    grow(world, 'ethereum', 20, 1)
    await indexAll(world)
    const [routes = []] = world.routes
    const [index] = world.indexes
    const [base] = world.ecosystem.chains
    assert.ok(index !== undefined && base !== undefined)
    const before = await answerTo(routes, '/api/burns/total?asOfBlock=base:3')
    const noBlock = { number: -1, hash: '0x', timestamp: -1 } as const
    const reread = (datasets: readonly string[] | null) =>
      index.deps.engine.write((connection) =>
        writeBackfill(connection, base.id, {
          newestFrom: { number: 15, timestamp: 1_700_400_000 },
          ...{ read: noBlock, folded: noBlock, datasets },
        }),
      )
    await reread(['grave-digs'])
    const later = await answerTo(routes, '/api/burns/total?asOfBlock=base:4')
    assert.equal(later.headers?.['Cache-Control'], IMMUTABLE)
    const digs = await refusalOf(routes, '/api/grave-digs?asOfBlock=base:4')
    assert.equal(digs.code, 'data_not_ready')
    await forgetChain(index.deps, base.id)
    const { code } = await refusalOf(routes, '/api/burns/total?asOfBlock=base:3')
    assert.equal(code, 'data_not_ready')
    await advanceAll(stepIndex(index.deps), world.ecosystem.chains)
    const again = await answerTo(routes, '/api/burns/total?asOfBlock=base:3')
    assert.equal(again.body, before.body)
  },
)

worldTest(
  'while no node answers, only old blocks are refused, and they are not kept so',
  async (world) => {
    grow(world, 'base', 20, 1)
    grow(world, 'ethereum', 20, 1)
    await indexAll(world)
    const [routes = []] = world.routes
    const { base, ethereum } = world.nodes
    const old = '/api/burns/total?asOfBlock=base:3'
    base.faults.headNumber = 1
    ethereum.faults.headNumber = 1
    const { code, retryAfterSeconds } = await refusalOf(routes, old)
    assert.deepEqual([code, retryAfterSeconds], ['data_not_ready', 2])
    await readRoute(routes, '/api/burns/total?asOfBlock=base:19,ethereum:19')
    base.faults.headNumber = undefined
    ethereum.faults.headNumber = undefined
    await readRoute(routes, old)
  },
)

worldTest('a block that a reorg replaces while it is read is refused', async (world) => {
  grow(world, 'base', 12, 1)
  grow(world, 'ethereum', 12, 1)
  await indexAll(world)
  const [index] = world.indexes
  const [base] = world.ecosystem.chains
  const { chain } = world.nodes.base
  assert.ok(index !== undefined && base !== undefined)
  const { findBlocks } = await import('#chains/datasets/as-of/find-blocks.ts')
  const { resolveSnapshot } = await import('#chains/datasets/as-of/resolve-snapshot.ts')
  const deps = {
    register: index.deps.engine,
    ecosystem: world.ecosystem,
    clock: () => 2_000_000_000_000,
    blockClock: () => Promise.reject(new Error('it is stored')),
    nodeBudget: { refusal: () => undefined, spend: () => undefined },
    bucket: '127.0.0.1',
  }
  const named = [{ chain: base, number: 11 }]
  const found = await findBlocks(deps, { kind: 'blocks', named })
  assert.ok(!isRefusal(found))
  const fork = live(chain.fork(10), 'base', [busyBlock(3, 9)])
  const { number, hash, parentHash, timestamp } = fork.at(11)
  await deps.register.write((connection) =>
    storeBlocks(connection, base.id, [{ number, hash, parentHash, timestamp, logsBloom: '0x' }]),
  )
  const { status } = found
  const resolved = await deps.register.snapshot((connection) =>
    resolveSnapshot(connection, { ...deps, found, status, datasets: ['burns'] }),
  )
  assert.equal(
    isRefusal(resolved) && resolved.message,
    'base has just reorganised. Try again soon.',
  )
})

async function reasonsOf(routes: readonly Route[], points: readonly string[]) {
  const reasons: string[] = []
  for (const point of points) {
    const refusal = await callRoute(routes, `/api/burns/total?${point}`)
    assert.ok(isRefusal(refusal), point)
    assert.equal(refusal.code, 'invalid_parameter')
    reasons.push(refusal.message)
  }
  return reasons
}

async function metaAt({ routes }: World, point: string): Promise<Record<string, unknown>> {
  const [first = []] = routes
  const { meta } = await readRoute(first, `/api/burns/total?${point}`)
  return meta as Record<string, unknown>
}

async function finalAt(world: World, point: string): Promise<readonly boolean[]> {
  const { blocks } = await metaAt(world, point)
  return (blocks as readonly { readonly final: boolean }[]).map(({ final }) => final)
}

async function cacheControlAt({ routes }: World, point: string): Promise<string | undefined> {
  const [first = []] = routes
  return (await answerTo(first, `/api/burns/total?${point}`)).headers?.['Cache-Control']
}
