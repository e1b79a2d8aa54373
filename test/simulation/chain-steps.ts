import type { Chance } from './chance.ts'
import type { SimulatedChain } from './simulated-chain.ts'

/** Something that happens to one chain; gives what is to be told of it. */
export type ChainStep = (chain: SimulatedChain, chance: Chance) => string | undefined

/** How many blocks a reorganisation may take back, the finality window's edges above all. */
function depthOf({ finalDepth, truth, floor }: SimulatedChain, chance: Chance): number {
  const wanted = chance.pick([1, 1, 2, finalDepth - 1, finalDepth, chance.integer(1, finalDepth)])
  return Math.min(wanted, truth.head.number - floor)
}

const grow: ChainStep = (chain, chance) => {
  const count = chance.weighted([
    [6, 1],
    [4, 2],
    [2, chance.integer(3, 8)],
    [1, chance.integer(9, 80)],
  ])
  chain.turnTo(chain.life.grow(chain.truth, count, chain.pace))
  return `${count} blocks more, head ${chain.truth.head.number}`
}

function reorganise(chain: SimulatedChain, depth: number, count: number): string {
  const ancestor = chain.truth.head.number - depth
  chain.turnTo(chain.life.rewrite(chain.truth, ancestor, count, chain.pace))
  return `reorg above ${ancestor}: ${depth} blocks gone, ${count} new`
}

const reorg: ChainStep = (chain, chance) => {
  const depth = depthOf(chain, chance)
  if (depth < 1) return undefined
  return reorganise(
    chain,
    depth,
    depth +
      chance.weighted([
        [2, 0],
        [3, 1],
        [2, chance.integer(2, 6)],
      ]),
  )
}

/** A node gives the logs of the blocks that a reorganisation took back, as if nothing had happened. */
const reorgWithOldLogs: ChainStep = (chain, chance) => {
  const before = chain.truth
  const line = reorg(chain, chance)
  const index = chance.integer(0, chain.nodes.length - 1)
  const node = chain.nodes[index]
  if (line === undefined || node === undefined) return undefined
  node.served.faults.siblingLogs = before
  return `${line}; node ${index} gives the old logs`
}

/** The chain is shorter for a while, as seen through a node that changes its mind. */
const shorten: ChainStep = (chain, chance) => {
  const depth = depthOf(chain, chance)
  if (depth < 2) return undefined
  return reorganise(chain, depth, chance.integer(1, depth - 1))
}

const reorgTwice: ChainStep = (chain, chance) => {
  const first = reorg(chain, chance)
  const second = reorg(chain, chance)
  return first && second && `twice at once: ${first}; ${second}`
}

/** Any branch that is not the truth is short enough that none of its own blocks count as final. */
function branch(chain: SimulatedChain, chance: Chance, ancestor: number) {
  const longest = Math.max(1, chain.finalDepth)
  const length = chance.pick([longest, chance.integer(1, longest)])
  return chain.life.rewrite(chain.truth, ancestor, length, chain.pace)
}

/** One node follows a branch of its own. */
const fork: ChainStep = (chain, chance) => {
  const depth = depthOf(chain, chance)
  const index = chance.integer(0, chain.nodes.length - 1)
  const node = chain.nodes[index]
  if (depth < 1 || node === undefined) return undefined
  const ancestor = chain.truth.head.number - depth
  node.view = 'own'
  node.served.chain = chain.branchOff(branch(chain, chance, ancestor))
  return `node ${index} forks above ${ancestor}, its head ${node.served.chain.head.number}`
}

/** The branch of a node wins. */
const forkWins: ChainStep = (chain) => {
  const node = chain.nodes.find(({ view }) => view === 'own')
  const own = node?.served.chain
  if (node === undefined || own === undefined) return undefined
  if (own.blocks[chain.floor]?.hash !== chain.truth.at(chain.floor).hash) return undefined
  node.view = 'truth'
  chain.turnTo(own)
  return `the fork with head ${own.head.number} wins`
}

/** One node no longer follows the chain. */
const fallBehind: ChainStep = (chain, chance) => {
  const index = chance.integer(0, chain.nodes.length - 1)
  const node = chain.nodes[index]
  if (node === undefined || node.view !== 'truth') return undefined
  node.view = 'own'
  return `node ${index} stays at ${chain.truth.head.number}`
}

/** Every node shows a chain that contradicts final blocks, for as long as it is not cured. */
const deepLie: ChainStep = (chain, chance) => {
  const ancestor = chain.floor - chance.pick([1, 1, 5])
  if (ancestor <= chain.startBlock) return undefined
  const lie = chain.remember(branch(chain, chance, ancestor))
  for (const node of chain.nodes) {
    node.view = 'own'
    node.served.chain = lie
    node.served.finalDepth = lie.head.number - ancestor
  }
  return `all nodes fork above ${ancestor}, below the final ${chain.floor}; their head ${lie.head.number}`
}

/** What may happen to a chain, and how often. */
export const chainSteps: readonly (readonly [weight: number, step: ChainStep])[] = [
  [12, grow],
  [5, reorg],
  [2, reorgWithOldLogs],
  [1, shorten],
  [1.5, reorgTwice],
  [1.5, fork],
  [1, forkWins],
  [1, fallBehind],
  [0.5, deepLie],
]
