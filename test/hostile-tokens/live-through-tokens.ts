import type { Engine } from '#db/engine.ts'
import { type ChainName, chainIds } from '#devnet/addresses.ts'
import { type BuiltChain, beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { type Chance, chanceOf } from '#test/chance.ts'
import { describeFailure, type Run } from './describe-failure.ts'
import { differencesOf, type Figures } from './figures.ts'
import { type FollowedChains, followChains } from './follow-chains.ts'
import { hostileEcosystem } from './hostile-ecosystem.ts'
import { breakNode } from './node-faults.ts'
import { readApi, readRegister } from './read-register.ts'
import { recount } from './recount/recount.ts'
import { makeTokenLife, type TokenLife } from './token-life.ts'
import { planWorld, type WorldPlan } from './world-plan.ts'

const GENESIS_UNIX = 1_700_000_000

/** History is read as ranges only this far below the final block. */
const HISTORY_DEPTH = 64

/** Far more than any world takes; an index that goes round in circles ends here. */
const STEPS_MAX = 500

/** One chain of the world, with its node. */
interface LivingChain {
  readonly name: ChainName
  readonly life: TokenLife
  readonly node: ServedChain
}

/**
 * Lets chains grow and reorganise while a register follows them, then compares it with a recount.
 * Throws what differs.
 */
export async function liveThroughTokens(
  register: Engine,
  { seed, proofs }: { readonly seed: number; readonly proofs: WorldPlan['proofs'] },
): Promise<void> {
  const chance = chanceOf(`hostile tokens ${seed}`)
  const plan = planWorld(chance.apart('plan'), proofs)
  const chains: LivingChain[] = []
  try {
    for (const name of plan.chains) chains.push(await beginLife(chance.apart(name), name, plan))
    const urls = Object.fromEntries(chains.map(({ name, node }) => [name, node.url]))
    const ecosystem = hostileEcosystem(plan, urls)
    const followed = await followChains(register, ecosystem)
    const step = (chain: LivingChain) =>
      followed.advance(ecosystem.chains.find(({ name }) => name === chain.name) ?? missing())
    await liveOn({ chance: chance.apart('rounds'), chains, plan, followed, step })
    closeLast(chains, plan)
    for (const chain of chains) await stepSome(() => step(chain), STEPS_MAX)
    const run = { seed, dialect: register.dialect, plan }
    await compare({ register, ecosystem, followed, chains }, run)
  } finally {
    await Promise.all(chains.map(({ node }) => node.stop()))
  }
}

function missing(): never {
  throw new RangeError('the file lacks a chain of the world')
}

async function beginLife(chance: Chance, name: ChainName, plan: WorldPlan): Promise<LivingChain> {
  const life = makeTokenLife(chance, name, plan)
  const logIndexes = plan.features.has('indexes-by-transaction') ? 'transaction' : 'block'
  const isProvable = plan.proofs === 'every'
  const empty = beginChain(chainIds[name], GENESIS_UNIX, { isProvable, logIndexes })
  const grown = life.grow(life.begin(empty), chance.integer(15, 40), plan.pace)
  const quiet = plan.isOldHistory ? HISTORY_DEPTH + plan.finalDepth + 2 : 0
  const { finalDepth } = plan
  const depths = { finalDepth, safeDepth: Math.ceil(finalDepth / 2) }
  return { name, life, node: await serveChain(grown.addEmpty(quiet), depths) }
}

/** Chains grow and reorganise while the index is somewhere behind them. */
async function liveOn(deps: {
  readonly chance: Chance
  readonly chains: readonly LivingChain[]
  readonly plan: WorldPlan
  readonly followed: FollowedChains
  step(chain: LivingChain): Promise<boolean>
}): Promise<void> {
  const { chance, chains, plan, followed, step } = deps
  // Whatever is final when the index first looks never goes.
  for (const chain of chains) await stepSome(() => step(chain), chance.integer(1, 6))
  for (let round = chance.integer(3, 6); round > 0; round -= 1)
    for (const chain of chains) {
      const { node, life } = chain
      const depth = chance.integer(1, plan.finalDepth - 1)
      const isReorg = plan.features.has('reorgs') && chance.happens(0.5)
      node.chain = isReorg
        ? life.rewrite(node.chain, node.chain.head.number - depth)
        : life.grow(node.chain, chance.integer(1, 3), 'seconds')
      if (plan.features.has('faulty-nodes')) breakNode(chance.apart('faults'), node, plan)
      await stepSome(() => step(chain), chance.integer(0, 4))
      Object.assign(node.faults, noFaults())
      if (plan.features.has('restarts') && chance.happens(0.3)) followed.restart()
    }
}

async function stepSome(step: () => Promise<boolean>, times: number): Promise<void> {
  for (let left = times; left > 0 && (await step()); left -= 1);
}

/** The chain of the prices is final past the other's end, so that every event can be valued. */
function closeLast(chains: readonly LivingChain[], { finalDepth }: WorldPlan): void {
  const newest = Math.max(...chains.map(({ node }) => node.chain.head.timestamp))
  for (const { name, node } of chains)
    if (name === 'base') node.chain = closedAfter(node.chain, newest).addEmpty(finalDepth)
}

function closedAfter(chain: BuiltChain, unix: number): BuiltChain {
  return chain.add({ secondsApart: unix - chain.head.timestamp + 1 })
}

async function compare(
  deps: {
    readonly register: Engine
    readonly ecosystem: Parameters<typeof readRegister>[0]['ecosystem']
    readonly followed: FollowedChains
    readonly chains: readonly LivingChain[]
  },
  run: Run,
): Promise<void> {
  const { register, ecosystem, followed, chains } = deps
  const canonical = chains.map(({ name, node }) => ({
    id: chainIds[name],
    name,
    blocks: node.chain.blocks,
  }))
  const input = { register, ecosystem, plan: run.plan }
  const expected = recount({ chains: canonical, plan: run.plan })
  const found = new Map([...(await readRegister(input)), ...(await readApi(input))])
  const differences = differencesOf(allowUnknown(expected, found, run.plan), found)
  if (differences.length > 0)
    throw new Error(describeFailure(run, differences), { cause: followed.failures().at(-1) })
}

/**
 * A token that was overdrawn once, maybe on another branch, stays unknown until its contract agrees
 * with the register, which is not asked here.
 */
function allowUnknown(expected: Figures, found: Figures, { features }: WorldPlan): Figures {
  if (!features.has('unexplained-balances')) return expected
  const isUnknown = (name: string) =>
    /^api .* (totalSupply|circulatingSupply|holderCount|pctOfMinted)$/.test(name) &&
    found.get(name) === 'null'
  return new Map([...expected].map(([name, figure]) => [name, isUnknown(name) ? 'null' : figure]))
}
