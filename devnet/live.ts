import { setTimeout as sleep } from 'node:timers/promises'
import { activityCalls } from '#devnet/activity.ts'
import { sendTransaction } from '#devnet/chain-client.ts'
import { blockSeconds } from '#devnet/fill-time.ts'
import { livePace } from '#devnet/pace.ts'
import type { World } from '#devnet/world.ts'

/** Activity that goes on until it is stopped. */
export interface Live {
  /** Ends the activity and the mining of blocks; the chain then stands still. */
  stop(): Promise<void>
}

/** Lets a chain mine a block every few seconds, with people who keep doing things. */
export async function startLive(
  deps: { readonly nowUnix: () => number; readonly log: (line: string) => void },
  world: World,
): Promise<Live> {
  const { chain } = world
  const seconds = blockSeconds[chain.name]
  const stopping = new AbortController()
  await setInterval(world, seconds)
  const running = keepActing(deps, { world, seconds, signal: stopping.signal })
  return {
    async stop() {
      stopping.abort()
      await running
      await setInterval(world, 0)
    },
  }
}

function setInterval(world: World, seconds: number): Promise<unknown> {
  return world.chain.rpc.send({ method: 'evm_setIntervalMining', params: [seconds] })
}

async function keepActing(
  deps: { readonly nowUnix: () => number; readonly log: (line: string) => void },
  input: { readonly world: World; readonly seconds: number; readonly signal: AbortSignal },
): Promise<void> {
  const { world, signal } = input
  let fromUnix = deps.nowUnix()
  let silent = false
  while (!signal.aborted) {
    await sleep(input.seconds * 1000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const toUnix = Math.min(deps.nowUnix(), fromUnix + longestStepSeconds)
    try {
      const calls = activityCalls(world, { fromUnix, toUnix, pace: livePace })
      for (const call of calls) await sendTransaction(world.chain, call)
      silent = false
    } catch (cause) {
      if (!silent) deps.log(`${world.chain.name}: activity paused: ${String(cause)}`)
      silent = true
    }
    fromUnix = deps.nowUnix()
  }
}

// After the machine has slept, the missed hours are not made up for in one burst.
const longestStepSeconds = 20
