import assert from 'node:assert/strict'
import fc from 'fast-check'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { applyConfig } from '#chains/indexer/indexed-config/apply-config.ts'
import { isRefusal } from '#domain/refusal.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { live, livelyBlocks } from '#test/chain-builder/random-life.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { callRoute, dataRoutesOf } from '#test/route-reader.ts'
import { type Chance, chanceOf } from '#test/simulation/chance.ts'
import type { SimulatedStore } from '#test/simulation/simulated-store.ts'
import { commitDepsOf, differenceOf, stepIndex } from '#test/stepped-index.ts'
import { CHAINS, type ChainName, FIRST_LOG_BLOCK, randomFile } from './random-file.ts'

const GENESIS_UNIX = 1_700_000_000
const FINAL_DEPTH = 4

type Nodes = Readonly<Record<ChainName, ServedChain>>

/**
 * Applies two or three files to a register in turn, each at a random moment of reading the previous
 * one. Checks that the register then equals one built from the last file alone, and that it never
 * contains an event that the newest file does not map.
 */
export async function liveThroughFiles(store: SimulatedStore, seed: number): Promise<void> {
  const chance = chanceOf(`files ${seed}`)
  const nodes = await serveChains(seed)
  // Below all reorgs, so that rows depend on the file only.
  const heads = Object.values(nodes).map(({ chain }) => chain.head.number)
  const lasting = Math.min(...heads) - FINAL_DEPTH
  try {
    const rpcUrls = {
      base: nodes.base.url,
      ethereum: nodes.ethereum.url,
      arbitrum: nodes.arbitrum.url,
    }
    const count = chance.weighted([
      [3, 2],
      [1, 3],
    ])
    const files = Array.from({ length: count }, () =>
      parseEcosystem('random', randomFile(chance, rpcUrls)),
    )
    const last = files.at(-1)
    assert.ok(last !== undefined)
    for (const file of files) {
      if (file !== files[0]) await askEverything(store.lived, file)
      await indexSome(store.lived, file, { chance, isAll: chance.happens(0.5) })
      await askEverything(store.lived, file)
      if (file !== last && chance.happens(0.5)) moveOn(nodes, chance, seed)
    }
    const partial = await eventsOf(store.lived, lasting)
    await indexSome(store.fresh, last, { chance, isAll: true })
    const whole = new Set(await eventsOf(store.fresh, lasting))
    for (const event of partial) assert.ok(whole.has(event), `${event} is not of the newest file`)
    await indexSome(store.lived, last, { chance, isAll: true })
    assert.equal(await differenceOf(store.lived, store.fresh), undefined)
  } finally {
    await Promise.all(Object.values(nodes).map((node) => node.stop()))
  }
}

async function serveChains(seed: number): Promise<Nodes> {
  const life = fc.array(livelyBlocks, { minLength: 10, maxLength: 10 })
  const lives = fc.sample(life, { numRuns: CHAINS.length, seed }).map((each) => each.flat())
  const served = await Promise.all(
    CHAINS.map(async ({ name, id, contracts }, index) => {
      const begun = beginChain(id, GENESIS_UNIX).addEmpty(FIRST_LOG_BLOCK - 1)
      const chain = live(begun, contracts, lives[index] ?? []).addEmpty(70)
      return [name, await serveChain(chain, { finalDepth: FINAL_DEPTH })] as const
    }),
  )
  return Object.fromEntries(served) as Nodes
}

/** Adds blocks to every chain, and reorganises some. */
function moveOn(nodes: Nodes, chance: Chance, seed: number): void {
  const [blocks = []] = fc.sample(livelyBlocks, { numRuns: 1, seed: seed + 1 })
  for (const { name, contracts } of CHAINS) {
    const node = nodes[name]
    const depth = chance.happens(0.5) ? chance.integer(1, FINAL_DEPTH - 1) : 0
    const forked = depth === 0 ? node.chain : node.chain.fork(node.chain.head.number - depth)
    node.chain = live(forked, contracts, blocks).addEmpty(depth + 1)
  }
}

/** Applies the file as a new process would, and reads some chains or all. */
async function indexSome(
  engine: Engine,
  ecosystem: Ecosystem,
  { chance, isAll }: { readonly chance: Chance; readonly isAll: boolean },
): Promise<void> {
  const deps = await commitDepsOf(engine, ecosystem)
  const { chains } = ecosystem
  await applyConfig({ ...deps, file: filePartsOf(ecosystem), hasWaited: false })
  const index = stepIndex(deps)
  for (const chain of chains) {
    const steps = isAll ? Number.POSITIVE_INFINITY : chance.integer(0, 8)
    for (let step = 0; step < steps && (await index.advance(chain)); step += 1);
  }
}

const TARGETS = [
  '/api/stats',
  ...['supply', 'burned', 'holders', 'price', 'dividends', 'graveDigs'].map(
    (metric) => `/api/stats/history?metric=${metric}&period=all`,
  ),
  '/api/burns',
  '/api/burns?chain=base',
  '/api/burns/total',
  '/api/burns/recent',
  '/api/burns/recent?token=GRAVE',
  '/api/dividends/total',
  '/api/dividends/recent',
  '/api/grave-digs',
  '/api/grave-digs/leaderboard',
]

/** At any moment, no answer fails, and totals are the sums of their chains. */
async function askEverything(register: Engine, ecosystem: Ecosystem): Promise<void> {
  const routes = dataRoutesOf({ register, ecosystem })
  for (const target of TARGETS) {
    const outcome = await callRoute(routes, target)
    if (isRefusal(outcome))
      assert.equal(outcome.code, 'data_not_ready', `${target}: ${outcome.message}`)
    else if (target === '/api/burns/total' && outcome.kind === 'answer') {
      const { data } = JSON.parse(String(outcome.body))
      // Unknown, as are those of its chains, while a log of the token is unreadable.
      if (data.totalBurnedRaw === null) continue
      const burned = data.chains.map((each: { readonly burnedRaw: string }) =>
        BigInt(each.burnedRaw),
      )
      const sum = burned.reduce((a: bigint, b: bigint) => a + b, 0n)
      assert.equal(sum, BigInt(data.totalBurnedRaw), target)
    }
  }
}

async function eventsOf(engine: Engine, upTo: number): Promise<readonly string[]> {
  const found = await engine.read(sql`
    select dataset, chain_id, block_number, place, kind, token, amount from events
    where block_number <= ${upTo}`)
  return found.map((row) => Object.values(row).join(' '))
}
