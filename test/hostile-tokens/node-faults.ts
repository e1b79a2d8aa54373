import type { Faults, TransportFault } from '#test/chain-builder/faults.ts'
import type { ServedChain } from '#test/chain-builder/serve-chain.ts'
import type { Chance } from '#test/chance.ts'
import type { WorldPlan } from './world-plan.ts'

const transportKinds: readonly [TransportFault['kind'], ...TransportFault['kind'][]] = [
  'html',
  'bad-gateway',
  'truncated',
  'reset',
  'gzip-garbage',
  'wrong-id',
  'null-result',
]

/** What the logs of a block are not, while its receipts tell the truth. */
const lies: readonly Partial<Faults>[] = [
  { hiddenLogs: 'all' },
  { hiddenLogs: 'other-events' },
  { foreignLogs: true },
  { forgedLogs: true },
  { repeatedLogs: true },
  { shuffledLogs: true },
]

/** Gives a node one more fault, which lasts until it is healed. */
export function breakNode(chance: Chance, node: ServedChain, { proofs }: WorldPlan): void {
  const { number } = node.chain.head
  const kind = chance.pick(transportKinds)
  const faults: readonly [Partial<Faults>, ...Partial<Faults>[]] = [
    { transport: { kind, times: chance.integer(1, 5) } },
    { rangeMax: { blocks: chance.pick([1, 7, 50]), dialect: 'alchemy' } },
    { logsMax: { logs: chance.pick([15, 40]), dialect: 'infura' } },
    { headNumber: Math.max(0, number - chance.pick([1, 2, 5, 30])) },
    { nullBlocks: new Set([number - chance.integer(0, 6)]) },
    { shiftedBlocks: true },
    { tags: 'unknown' },
    { timestamps: 'missing' },
    // Who does not prove blocks believes their logs.
    ...(proofs === 'every' ? lies : []),
  ]
  Object.assign(node.faults, chance.pick(faults))
}
