import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from 'viem'
import { registerName } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import {
  burn,
  burnToDead,
  claimDividend,
  dig,
  distribute,
  mine,
  payUsdc,
  reorg,
  swap,
  transfer,
  updateFeed,
} from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { type ChainClient, readHead } from '#devnet/chain-client.ts'
import { units } from '#devnet/units.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { readIndexStatus } from '#index/status.ts'
import { openStore } from '#main/stores.ts'
import { auditService } from './audit-service.ts'
import { startWorld, type World } from './world.ts'

/** A reorg is over for the index within a poll and a commit; a loaded machine gets this long. */
const SETTLED_MS = 30_000

/** Nobody is refused for calling often. */
const QUOTA = 1_000_000

/** Between two calls of a caller: the guard of the service allows 50 a second in the long run. */
const PAUSE_MS = 60
const CALLERS = 2

const PATHS = [
  '/api/stats',
  '/api/burns/total',
  '/api/burns/recent',
  '/api/dividends/total',
  '/api/grave-digs/leaderboard',
  '/api/meta',
]

/** Up to what a real chain may take back before it is final. */
const DEPTHS = [1, 3, 13, 40]

let world: World
before(async () => {
  world = await startWorld({
    live: true,
    change: (file) => ({
      ...file,
      chains: file.chains.map((chain) => ({ ...chain, pollIntervalMs: 200 })),
      quotas: { anonymous: QUOTA, free: QUOTA, premium: QUOTA },
    }),
  })
})
after(() => world.stop())

test('the index follows a live chain through reorgs of depth 1 to 40 while the API is called', async () => {
  const { base, ethereum } = world.devnet.chains
  const register = await openStore(
    world.config.dataFolder,
    registerName(parseEcosystem('local', world.file)),
    world.config.database,
  )
  const load = startLoad(world)
  try {
    for (const depth of DEPTHS) {
      const clients = depth % 3 === 0 ? [base.client, ethereum.client] : [base.client]
      for (const client of clients) {
        await fill(client, depth)
        // Sometimes the index has seen the blocks that go, sometimes it has not.
        if (depth % 2 === 1) await settled(register, client)
        await replaceNewest(client, depth)
        await settled(register, client)
      }
    }
  } finally {
    await load.stop()
    await register.close()
  }
  assert.ok(load.calls() > 10, `${load.calls()} calls`)
})

test('the audit finds nothing after the reorgs', async () => {
  assert.deepEqual(await auditService(world), [])
})

/** Blocks full of deeds, as many as will be taken back. */
async function fill(chain: ChainClient, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    for (const act of deedsOf(chain, block)) await act()
    await mine(chain, { blocks: 1, secondsApart: 1 })
  }
  for (const act of deedsOf(chain, blocks)) await act()
}

/** A few of all kinds of deeds, other ones in each block. */
function deedsOf(chain: ChainClient, block: number): readonly (() => Promise<unknown>)[] {
  const { operator, holder, premium, poor, payTo } = accounts
  const amount = units(10 + block)
  const usdc = 1_000_000n + BigInt(block)
  const onBase = [
    () => swap(chain, { token: 'grave', side: 'buy', amountIn: units(1) / 1_000n }),
    () => transfer(chain, { token: 'crypt', from: operator, to: premium, amount }),
  ]
  const all = [
    () => transfer(chain, { token: 'grave', to: poor, amount }),
    () => burn(chain, { token: 'grave', from: operator, amount }),
    () => burnToDead(chain, { token: 'crypt', from: operator, amount }),
    () => claimDividend(chain, { token: 'usdc', account: holder, amount: usdc }),
    () => payUsdc(chain, { from: operator, to: payTo, amount: usdc }),
    () => dig(chain, { digger: premium, amount }),
    () => distribute(chain, { token: 'weth', amount: units(1) / 10_000n }),
    () => updateFeed(chain, { answer: 3_000_00000000n + BigInt(block) }),
    ...(chain.name === 'base' ? onBase : []),
  ]
  return all.filter((_, index) => (index + block) % 3 === 0)
}

/**
 * Once more where only empty blocks were replaced: an empty block in place of an empty one is the
 * same block.
 */
async function replaceNewest(chain: ChainClient, depth: number): Promise<void> {
  const until = performance.now() + SETTLED_MS
  for (;;) {
    await transfer(chain, { token: 'grave', to: accounts.poor, amount: 1n })
    await mine(chain, { blocks: 1, secondsApart: 1 })
    const before = await readHead(chain)
    await reorg(chain, { depth })
    assert.ok(await isWhole(chain, before.number - depth), `${chain.name} lost blocks in a reorg`)
    if ((await blockHash(chain, before.number)) !== before.hash) return
    assert.ok(performance.now() < until, `the blocks of ${chain.name} were not replaced`)
  }
}

/** Whether the node knows every block from one on. */
async function isWhole(chain: ChainClient, from: number): Promise<boolean> {
  const { number: last } = await readHead(chain)
  for (let number = Math.max(0, from); number <= last; number += 1)
    if ((await blockHash(chain, number)) === undefined) return false
  return true
}

/** Waits until the register stands on the chain as it is now, or on blocks above it. */
async function settled(register: Engine, chain: ChainClient): Promise<void> {
  const { chains } = parseEcosystem('local', world.file)
  const head = await readHead(chain)
  const until = performance.now() + SETTLED_MS
  for (;;) {
    const status = await register.snapshot((reads) => readIndexStatus(reads, chains))
    const own = status?.chains.find((each) => each.chain.id === chain.chainId)
    if (own !== undefined && own.blockNumber >= head.number)
      if ((await blockHash(chain, own.blockNumber)) === own.blockHash) return
    const where = own === undefined ? 'nowhere' : `at ${own.blockNumber} ${own.blockHash}`
    if (performance.now() > until)
      throw new Error(`${chain.name} stands at ${head.number} ${head.hash}, the index ${where}`)
    await sleep(50)
  }
}

async function blockHash(chain: ChainClient, number: number): Promise<unknown> {
  const block = await chain.rpc.send({
    method: 'eth_getBlockByNumber',
    params: [toHex(number), false],
  })
  return typeof block === 'object' && block !== null && 'hash' in block ? block.hash : undefined
}

/** Calls the API until it is stopped; every answer must be whole and as documented. */
function startLoad({ api }: World) {
  let calls = 0
  let isStopping = false
  const caller = async (first: number) => {
    for (let index = first; !isStopping; index += 1) {
      const answer = await api.get(PATHS[index % PATHS.length] ?? '/api/meta')
      assert.equal(answer.status, 200, answer.text)
      calls += 1
      await sleep(PAUSE_MS)
    }
  }
  const running = Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)))
  // Told when it is stopped.
  running.catch(() => undefined)
  return {
    calls: () => calls,
    async stop() {
      isStopping = true
      await running
    },
  }
}
