import { beginChain } from '#test/chain-builder/built-chain.ts'
import type { Dialect, Faults, TransportFault } from '#test/chain-builder/faults.ts'
import type { Chance } from './chance.ts'
import type { SimulatedChain, SimulatedNode } from './simulated-chain.ts'

/** A fault that befalls one node; gives what is to be told of it. */
export type NodeStep = (
  node: SimulatedNode,
  chain: SimulatedChain,
  chance: Chance,
) => string | undefined

/** The quickest answer over a network. */
const ANSWER_MS = 5

const dialects = ['alchemy', 'infura', 'quicknode', 'geth'] as const satisfies readonly Dialect[]

function set(node: SimulatedNode, faults: Partial<Faults>): string {
  Object.assign(node.served.faults, faults)
  return Object.entries(faults)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')
}

const transport: NodeStep = (node, _chain, chance) => {
  const kind = chance.pick<TransportFault['kind']>([
    'rate-limit',
    'html',
    'bad-gateway',
    'truncated',
    'hang',
    'reset',
    'drip',
    'gzip',
    'gzip-garbage',
    'wrong-id',
    'null-result',
  ])
  const times = chance.pick([1, 1, 2, 5, 20])
  const isTold = kind === 'rate-limit' && chance.happens(0.5)
  const retry = isTold ? { retryAfterSeconds: chance.integer(0, 5) } : {}
  return set(node, { transport: { kind, times, ...retry } })
}

const huge: NodeStep = (node) => set(node, { transport: { kind: 'huge', times: 1 } })

const rangeCap: NodeStep = (node, _chain, chance) =>
  set(node, {
    rangeMax: { blocks: chance.pick([1, 7, 20, 50, 200]), dialect: chance.pick(dialects) },
  })

const resultCap: NodeStep = (node, _chain, chance) =>
  set(node, { logsMax: { logs: chance.pick([15, 40, 100]), dialect: chance.pick(dialects) } })

/** Logs of a block that are not all, or not its own; its receipts tell the truth. */
const wrongLogs: NodeStep = (node, _chain, chance) =>
  set(
    node,
    chance.pick<Partial<Faults>>([
      { hiddenLogs: 'all', receipts: 'right' },
      { hiddenLogs: 'other-events', receipts: 'right' },
      { foreignLogs: true },
      { forgedLogs: true },
    ]),
  )

const oddLogs: NodeStep = (node, _chain, chance) =>
  set(
    node,
    chance.pick<Partial<Faults>>([
      { repeatedLogs: true },
      { shuffledLogs: true },
      { timestamps: 'missing' },
      { timestamps: 'zero' },
    ]),
  )

const lag: NodeStep = (node, chain, chance) =>
  set(node, {
    headNumber: Math.max(0, chain.truth.head.number - chance.pick([1, 2, 5, 30, 500])),
  })

const oddBlocks: NodeStep = (node, chain, chance) => {
  const { number } = chain.truth.head
  return set(
    node,
    chance.pick<Partial<Faults>>([
      { shiftedBlocks: true },
      { tags: 'unsupported' },
      { tags: 'unknown' },
      { nullBlocks: new Set([number - chance.integer(0, 6), number + 1, number + 2]) },
      { receipts: 'unsupported', hiddenLogs: 'none' },
      { receipts: 'unknown-block' },
    ]),
  )
}

/** Two nodes on different forks behind one address, call by call. */
const alternate: NodeStep = (node, chain, chance) => {
  const { truth, floor, finalDepth, life, pace } = chain
  const depth = Math.min(chance.integer(1, finalDepth), truth.head.number - floor)
  if (depth < 1) return undefined
  const ancestor = truth.head.number - depth
  const count = chance.pick([depth, chance.integer(1, finalDepth)])
  const otherFork = chain.branchOff(life.rewrite(truth, ancestor, count, pace))
  const { faults } = node.served
  const { latencyMs } = faults
  // Reorganisations back and forth follow one another as fast as answers come.
  Object.assign(faults, { otherFork, latencyMs: () => Math.max(ANSWER_MS, latencyMs()) })
  return `every second answer from a fork above ${ancestor}, head ${otherFork.head.number}`
}

/** Behind the address there is a node of another chain now. */
const otherChain: NodeStep = (node, chain) => {
  const genesisUnix = chain.truth.at(0).timestamp
  node.view = 'own'
  node.served.chain = beginChain(1_337, genesisUnix).addEmpty(chain.truth.head.number + 3, 12)
  return 'serves another chain'
}

/** Answers take a while, so that chains change between them. */
const slow: NodeStep = (node, _chain, chance) => {
  const mostMs = chance.pick([20, 150, 700])
  const own = chance.apart('latency')
  return set(node, { latencyMs: () => own.integer(0, mostMs) }) && `up to ${mostMs} ms an answer`
}

/** What may befall a node, and how often. */
export const nodeSteps: readonly (readonly [weight: number, step: NodeStep])[] = [
  [6, transport],
  [0.2, huge],
  [2, rangeCap],
  [1, resultCap],
  [3, wrongLogs],
  [2, oddLogs],
  [2, lag],
  [2, oddBlocks],
  [1.5, alternate],
  [0.7, otherChain],
  [2, slow],
]
