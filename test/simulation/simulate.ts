import { chainSteps } from './chain-steps.ts'
import { type Chance, chanceOf } from './chance.ts'
import { checkSnapshot } from './check-snapshot.ts'
import { type FastTime, installFastTime } from './fast-time.ts'
import { type Indexers, openIndexers } from './indexers.ts'
import { lifeSteps } from './life-steps.ts'
import { nodeSteps } from './node-steps.ts'
import { seedRandom } from './seeded-random.ts'
import { settle } from './settle.ts'
import { heal } from './simulated-chain.ts'
import type { SimulatedStore } from './simulated-store.ts'
import { makeWorld, type World } from './world.ts'

/** What came of one seed. */
export interface Outcome {
  readonly seed: number
  /** What happened, in order, each with the milliseconds since the beginning. */
  readonly story: readonly string[]
  /** What is wrong at the end, or was on the way; undefined when nothing is. */
  readonly failure: string | undefined
  /** How long the indexer took to settle once all was calm, in simulated milliseconds. */
  readonly settledMs: number
}

/** The clock at the beginning of every simulation: far enough from any midnight. */
const START_MS = Date.UTC(2026, 2, 3, 10, 20, 30)

/** Lives through everything that a seed decides, then compares with an index that had no trouble. */
export async function simulate(
  openStore: () => Promise<SimulatedStore>,
  seed: number,
): Promise<Outcome> {
  const chance = chanceOf(String(seed))
  const story: string[] = []
  const store = await openStore()
  const time = installFastTime(START_MS)
  seedRandom(chance.apart('random').next)
  const tell = (line: string) => void story.push(`${time.now() - START_MS} ${line}`)
  const world = await makeWorld({ chance: chance.apart('world'), time })
  const { ecosystem } = world
  const indexers = openIndexers({ ecosystem, time, store: () => store.lived })
  let settledMs = 0
  let failure: string | undefined
  try {
    await live({ chance, indexers, store, tell, time, world })
    calm(world, indexers)
    tell('all is calm')
    settledMs = await settle({ indexers, store, time, world })
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
    tell(`last failures told: ${indexers.failures().join(' | ')}`)
  } finally {
    await indexers.end().catch((error: unknown) => {
      failure ??= String(error)
      tell(`it did not end: ${error}; last failures told: ${indexers.failures().join(' | ')}`)
    })
    await world.stop()
    time.restore()
    seedRandom()
    await store.close()
  }
  return { seed, story, failure, settledMs }
}

interface Scene {
  readonly chance: Chance
  readonly world: World
  readonly indexers: Indexers
  readonly store: SimulatedStore
  readonly time: FastTime
  tell(line: string): void
}

async function live(scene: Scene): Promise<void> {
  const { chance, indexers, store, tell, time, world } = scene
  for (const { name, nodes, truth, finalDepth, finality } of world.chains)
    tell(
      `${name}: ${nodes.length} nodes, head ${truth.head.number}, ${finalDepth} deep final (${finality})`,
    )
  for (const chain of world.chains) for (const node of chain.nodes) begin(scene, chain, node)
  indexers.start()
  const steps = chance.integer(10, 40)
  for (let step = 0; step < steps; step += 1) {
    await time.pass(chance.pick([2, 20, 60, 100, 300, 300, 700, 1_500, 6_000, 15_000]))
    await takeStep(scene)
    // Whoever was woken or warned does what it can at once.
    await time.pass(1)
    await checkSnapshot(store.lived, world)
  }
}

/** Some nodes are slow or strict from the beginning, which is when the history is read. */
function begin(
  { chance, tell }: Scene,
  chain: World['chains'][number],
  node: World['chains'][number]['nodes'][number],
): void {
  for (let faults = chance.integer(0, 2); faults > 0; faults -= 1) {
    const line = chance.weighted(nodeSteps)(node, chain, chance)
    if (line !== undefined) tell(`${chain.name} node ${chain.nodes.indexOf(node)}: ${line}`)
  }
}

async function takeStep(scene: Scene): Promise<void> {
  const { chance, tell, world } = scene
  const chain = world.chains[chance.integer(0, world.chains.length - 1)]
  if (chain === undefined) return
  const kind = chance.weighted([
    [10, 'chain'],
    [5, 'node'],
    [4, 'heal'],
    [4, 'life'],
  ] as const)
  if (kind === 'life') {
    const line = await chance.weighted(lifeSteps)(scene)
    if (line !== undefined) tell(line)
    return
  }
  if (kind === 'chain') {
    const line = chance.weighted(chainSteps)(chain, chance)
    if (line !== undefined) tell(`${chain.name}: ${line}`)
    return
  }
  const index = chance.integer(0, chain.nodes.length - 1)
  const node = chain.nodes[index]
  if (node === undefined) return
  if (kind === 'heal') heal(chain, node)
  const line = kind === 'heal' ? 'is well' : chance.weighted(nodeSteps)(node, chain, chance)
  if (line !== undefined) tell(`${chain.name} node ${index}: ${line}`)
}

/** Every fault ends, and the chains grow beyond what anybody has seen. */
function calm(world: World, indexers: Indexers): void {
  for (const chain of world.chains) {
    for (const node of chain.nodes) heal(chain, node)
    const highest = Math.max(...[...chain.blocks.values()].map((block) => block.number))
    const missing = highest - chain.truth.head.number
    chain.turnTo(chain.life.grow(chain.truth, missing + chain.finalDepth + 2, chain.pace))
  }
  for (const life of indexers.lives) {
    if (life.state === 'frozen') life.state = 'alive'
    life.mortal.wake()
    life.mortal.dieAt(Number.POSITIVE_INFINITY, () => undefined)
  }
  if (indexers.lives.every(({ state }) => state === 'ended')) indexers.start()
}
