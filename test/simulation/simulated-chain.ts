import type { ChainName } from '#devnet/addresses.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { type BuiltBlock, type BuiltChain, beginChain } from '#test/chain-builder/built-chain.ts'
import { noFaults } from '#test/chain-builder/faults.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import type { ServerWatch } from '#test/chain-builder/server-watch.ts'
import { type ChainLife, makeChainLife, type Pace } from './chain-life.ts'
import type { Chance } from './chance.ts'

/** What a node of a chain shows: the truth, what it was some time ago, or another branch. */
export type View = 'truth' | 'own'

export interface SimulatedNode {
  readonly served: ServedChain
  view: View
}

/** One chain of the world, with all its nodes. */
export interface SimulatedChain {
  readonly name: ChainName
  readonly id: number
  /** Blocks this deep are final, and never change. */
  readonly finalDepth: number
  readonly finality: Chain['finality']
  readonly startBlock: number
  readonly pace: Pace
  readonly life: ChainLife
  readonly nodes: readonly SimulatedNode[]
  /** Never fails and always shows the truth; no indexer under test asks it. */
  readonly honest: ServedChain
  /** Every block that ever was part of any branch, by hash. */
  readonly blocks: Map<string, BuiltBlock>
  readonly truth: BuiltChain
  /** The highest block that was ever final. */
  readonly floor: number
  /** The highest block that readers were told is final. */
  toldFinal: number
  /** Makes another chain the truth; nodes that show the truth follow. */
  turnTo(chain: BuiltChain): void
  /** Takes note of a branch that a node shows as it shows the truth: what it says is final stays. */
  branchOff(chain: BuiltChain): BuiltChain
  /** Takes note of the blocks of a branch that lies about what is final. */
  remember(chain: BuiltChain): BuiltChain
  stop(): Promise<void>
}

const DAY_SECONDS = 86_400

interface History {
  readonly blocks: number
  readonly days: number
}

/** Begins a chain that has a history already. */
export async function beginSimulatedChain(
  deps: { readonly chance: Chance; readonly watch: ServerWatch },
  input: {
    readonly name: ChainName
    readonly id: number
    readonly history: History
    readonly nodes: number
    readonly headUnix: number
  },
): Promise<SimulatedChain> {
  const { chance, watch } = deps
  const { history, name, id } = input
  const finalDepth = chance.integer(2, 10)
  const life = makeChainLife(chance.apart('life'), name)
  const genesisUnix = input.headUnix - history.days * DAY_SECONDS
  const startBlock = chance.weighted([
    [3, 0],
    [1, 3],
  ])
  const empty = beginChain(id, genesisUnix).addEmpty(startBlock)
  let truth = life.grow(empty, history.blocks, paceOf(history))
  let floor = Math.max(0, truth.head.number - finalDepth)
  const blocks = new Map<string, BuiltBlock>()
  const remember = (chain: BuiltChain) => {
    for (let at = chain.head.number; at >= 0 && !blocks.has(chain.at(at).hash); at -= 1)
      blocks.set(chain.at(at).hash, chain.at(at))
    return chain
  }
  remember(truth)
  const depths = { finalDepth, safeDepth: Math.ceil(finalDepth / 2) }
  const nodes: SimulatedNode[] = []
  for (let count = 0; count < input.nodes; count += 1)
    nodes.push({ served: await serveChain(truth, { ...depths, watch }), view: 'truth' })
  const honest = await serveChain(truth, { ...depths, watch })
  return {
    name,
    id,
    finalDepth,
    finality: chance.happens(0.6) ? 'tag' : finalDepth,
    startBlock,
    pace: { secondsApart: chance.pick([1, 6, 12]), transactionsPerBlock: chance.pick([0.5, 1, 2]) },
    life,
    nodes,
    honest,
    blocks,
    toldFinal: 0,
    get truth() {
      return truth
    },
    get floor() {
      return floor
    },
    turnTo(chain) {
      truth = remember(chain)
      floor = Math.max(floor, chain.head.number - finalDepth)
      honest.chain = chain
      for (const { served, view } of nodes) if (view === 'truth') served.chain = chain
    },
    branchOff(chain) {
      floor = Math.max(floor, chain.head.number - finalDepth)
      return remember(chain)
    },
    remember,
    async stop() {
      for (const { served } of [...nodes, { served: honest }]) await served.stop()
    },
  }
}

function paceOf(history: History): Pace {
  return {
    // Jumps to midnight take their share of the time.
    secondsApart: Math.floor((history.days * DAY_SECONDS) / history.blocks / 2),
    transactionsPerBlock: Math.min(1.5, 250 / history.blocks),
  }
}

/** Makes a node honest again. */
export function heal(chain: SimulatedChain, node: SimulatedNode): void {
  node.view = 'truth'
  node.served.chain = chain.truth
  node.served.finalDepth = chain.finalDepth
  const { latencyMs } = node.served.faults
  Object.assign(node.served.faults, noFaults(), { latencyMs })
}
