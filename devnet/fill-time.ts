import { type Address, toHex } from 'viem'
import { activityCalls } from '#devnet/activity.ts'
import type { ChainName } from '#devnet/addresses.ts'
import type { Call } from '#devnet/calls.ts'
import { type ChainClient, sendCall } from '#devnet/chain-client.ts'
import { historyPace } from '#devnet/pace.ts'
import type { World } from '#devnet/world.ts'

/** Unix seconds. */
export interface TimeSpan {
  readonly fromUnix: number
  readonly untilUnix: number
  readonly onBlock?: (done: number, total: number) => void
}

/**
 * One block every two or three hours, then enough blocks at the pace of a live chain for everything before
 * them to be final.
 */
export async function fillTime(world: World, span: TimeSpan): Promise<void> {
  const { chain } = world
  const step = blockSeconds[chain.name]
  const room = Math.floor((span.untilUnix - span.fromUnix) / step)
  const tail = Math.max(0, Math.min(tailBlocks, room))
  const times = historyTimes(world, { ...span, untilUnix: span.untilUnix - tail * step })
  const nonces: Nonces = new Map()
  let fromUnix = span.fromUnix
  for (const [index, toUnix] of times.entries()) {
    const calls = activityCalls(world, { fromUnix, toUnix, pace: historyPace })
    await mineBlock(chain, { calls, timestampUnix: toUnix, nonces })
    fromUnix = toUnix
    span.onBlock?.(index + 1, times.length)
  }
  await chain.rpc.send({ method: 'anvil_setBlockTimestampInterval', params: [step] })
  await chain.rpc.send({ method: 'anvil_mine', params: [toHex(tail)] })
  await chain.rpc.send({ method: 'anvil_removeBlockTimestampInterval' })
}

export type Nonces = Map<Address, number>

/** Exactly these transactions, in this order. */
export async function mineBlock(
  chain: ChainClient,
  input: {
    readonly calls: readonly Call[]
    readonly timestampUnix: number
    readonly nonces: Nonces
  },
): Promise<void> {
  await learnNonces(chain, input)
  const sends = input.calls.map((call) => {
    const nonce = input.nonces.get(call.from) ?? 0
    input.nonces.set(call.from, nonce + 1)
    return sendCall(call, nonce)
  })
  await chain.rpc.sendBatch(sends)
  await chain.rpc.send({ method: 'evm_mine', params: [toHex(input.timestampUnix)] })
}

export const blockSeconds: Readonly<Record<ChainName, number>> = {
  base: 2,
  ethereum: 4,
  arbitrum: 3,
}

// anvil finalizes a block once 64 more have followed.
const tailBlocks = 70

const blocksPerDay: Readonly<Record<ChainName, number>> = {
  base: 9,
  ethereum: 7,
  arbitrum: 3,
}

function historyTimes(world: World, { fromUnix, untilUnix }: TimeSpan): readonly number[] {
  const meanSeconds = 86_400 / blocksPerDay[world.chain.name]
  const pause = () => Math.round(meanSeconds * world.random.between(0.6, 1.4))
  const times: number[] = []
  for (let atUnix = fromUnix + pause(); atUnix < untilUnix; atUnix += pause()) times.push(atUnix)
  if (untilUnix > fromUnix) times.push(untilUnix)
  return times
}

async function learnNonces(
  chain: ChainClient,
  input: { readonly calls: readonly Call[]; readonly nonces: Nonces },
): Promise<void> {
  const unknown = [...new Set(input.calls.map((call) => call.from))].filter(
    (sender) => !input.nonces.has(sender),
  )
  const counts = await chain.rpc.sendBatch(
    unknown.map((sender) => ({ method: 'eth_getTransactionCount', params: [sender, 'latest'] })),
  )
  for (const [index, sender] of unknown.entries()) {
    input.nonces.set(sender, Number(counts[index]))
  }
}
