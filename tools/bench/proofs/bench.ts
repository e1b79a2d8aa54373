import type { Position } from '#chain/chain-event.ts'
import { follow } from '#chain/follow.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { allDatasets } from '#datasets/datasets.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { filtersOf } from '#indexer/select-logs.ts'
import { localFile } from '#main/roles/local-chains.ts'
import { type FullBlocksInput, makeFullBlocks } from './full-blocks.ts'
import { serveBlocks } from './serve-blocks.ts'

/** Prints the cost of proofs per new block: requests, bytes and time, as ratios. */

const BLOCKS = 60

const file = localFile(4020, { base: 'http://127.0.0.1:1', ethereum: 'http://127.0.0.1:1' })
const ecosystem = parseEcosystem('local', file)
const chain = ecosystem.payment?.chain
if (chain === undefined) throw new Error('the local ecosystem takes payments')
const filters = filtersOf(allDatasets(ecosystem), chain.id)
const addresses = new Set<string>(filters.flatMap((filter) => filter.addresses))

/** A log that the local ecosystem maps. */
const [pair] = filters.flatMap((filter) => filter.pairs ?? [])
const word = `0x${'00'.repeat(12)}${'aa'.repeat(20)}` as const
const ours =
  pair === undefined ? [] : [{ address: pair.address, topics: [pair.topic0, word, word] }]

const KINDS: readonly (Omit<FullBlocksInput, 'blocks'> & { readonly name: string })[] = [
  { name: 'as full as Base, one log of ours', transactions: [150, 300], logs: 4, ours },
  { name: 'as full as Base, none of ours', transactions: [150, 300], logs: 4, ours: [] },
  { name: 'nearly empty, none of ours', transactions: [2, 5], logs: 1, ours: [] },
]

interface Cost {
  readonly requests: number
  readonly bytes: number
  readonly ms: number
}

for (const { name, ...kind } of KINDS) {
  const blocks = await makeFullBlocks({ ...kind, blocks: BLOCKS })
  const server = await serveBlocks(chain.id, blocks, addresses)
  const costs = new Map<string, Cost>()
  for (const proofs of ['deposits', 'every'] as const) {
    const source = openRpcSource({ chainId: chain.id, urls: [server.url] })
    const spent = async () => {
      const [endpoint] = source.endpoints()
      return { requests: endpoint?.requests ?? 0, bytes: endpoint?.bytesReceived ?? 0 }
    }
    let position: Position | undefined
    const step = async (head: number) => {
      server.head = head
      const deps = { source, filters, startBlock: 0, finality: BLOCKS, proofs }
      const event = await follow({ ...deps, stored: async () => undefined }, position)
      if (event.kind === 'blocks') position = event.blocks.at(-1)?.header
    }
    await step(0)
    const before = await spent()
    const startedMs = process.cpuUsage()
    for (let head = 1; head < BLOCKS; head += 1) await step(head)
    const { user } = process.cpuUsage(startedMs)
    const after = await spent()
    const count = BLOCKS - 1
    costs.set(proofs, {
      requests: (after.requests - before.requests) / count,
      bytes: (after.bytes - before.bytes) / count,
      ms: user / 1000 / count,
    })
  }
  await server.stop()
  print(name, costs)
}

function print(name: string, costs: ReadonlyMap<string, Cost>): void {
  const [base] = costs.values()
  console.log(`\n${name}`)
  for (const [proofs, { requests, bytes, ms }] of costs) {
    const ratio = (value: number, of: number | undefined) => `x${(value / (of ?? 1)).toFixed(2)}`
    console.log(
      `  ${proofs.padEnd(9)} ${requests.toFixed(2)} requests (${ratio(requests, base?.requests)}), ` +
        `${(bytes / 1000).toFixed(1)} kB (${ratio(bytes, base?.bytes)}), ` +
        `${ms.toFixed(1)} ms of processor, node included (${ratio(ms, base?.ms)}) a block`,
    )
  }
}
