import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from 'viem'
import { activityCalls } from '#devnet/activity.ts'
import { type Head, readHead, sendTransaction } from '#devnet/chain-client.ts'
import { blockSeconds } from '#devnet/fill-time.ts'
import { livePace } from '#devnet/pace.ts'
import { readWorld, type World } from '#devnet/world.ts'

export interface Live {
  stop(): Promise<void>
}

/** Mines a block every few seconds, with activity. */
export async function startLive(
  deps: { readonly nowUnix: () => number; readonly log: (line: string) => void },
  world: World,
): Promise<Live> {
  const { chain } = world
  const seconds = blockSeconds[chain.name]
  const stopping = new AbortController()
  await setBlockInterval(world, seconds)
  const running = keepActing(deps, { world, seconds, signal: stopping.signal })
  return {
    async stop() {
      stopping.abort()
      await running
      await setBlockInterval(world, 0)
    },
  }
}

function setBlockInterval(world: World, seconds: number): Promise<unknown> {
  return world.chain.rpc.send({ method: 'evm_setIntervalMining', params: [seconds] })
}

async function keepActing(
  deps: { readonly nowUnix: () => number; readonly log: (line: string) => void },
  input: { readonly world: World; readonly seconds: number; readonly signal: AbortSignal },
): Promise<void> {
  const { signal } = input
  let { world } = input
  let seen = await readHead(world.chain)
  let fromUnix = deps.nowUnix()
  let paused = false
  while (!signal.aborted) {
    await sleep(input.seconds * 1000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const toUnix = Math.min(deps.nowUnix(), fromUnix + longestStepSeconds)
    try {
      if (await isReplaced(world, seen)) world = await readWorld(world.chain, world.seed)
      const calls = activityCalls(world, { fromUnix, toUnix, pace: livePace })
      for (const call of calls) await sendTransaction(world.chain, call)
      seen = await readHead(world.chain)
      paused = false
    } catch (cause) {
      if (!paused) deps.log(`${world.chain.name}: activity paused, retrying: ${String(cause)}`)
      paused = true
    }
    fromUnix = deps.nowUnix()
  }
}

// After a reorg the world must be read again.
async function isReplaced(world: World, seen: Head): Promise<boolean> {
  const block = await world.chain.rpc.send({
    method: 'eth_getBlockByNumber',
    params: [toHex(seen.number), false],
  })
  return !(typeof block === 'object' && block && 'hash' in block && block.hash === seen.hash)
}

// After the machine slept, missed hours are skipped.
const longestStepSeconds = 20
