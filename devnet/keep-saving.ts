import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainClient } from '#devnet/chain-client.ts'
import { saveState } from '#devnet/saved-state.ts'

/** Saving that goes on until it is stopped. */
export interface Saving {
  /** Ends after the save that is under way. */
  stop(): Promise<void>
}

/** Saves a chain now and then every few seconds, so that a kill -9 costs little of it. */
export function keepSaving(
  deps: { readonly log: (line: string) => void },
  input: { readonly chain: ChainClient; readonly file: string },
): Saving {
  const stopping = new AbortController()
  const running = saveAgainAndAgain(deps, { ...input, signal: stopping.signal })
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

// What a kill -9 may cost of the chain.
const pauseMs = 15_000

// A long chain takes longer to save; saving never takes more than about a thirtieth of the time.
const pausePerSave = 30

async function saveAgainAndAgain(
  deps: { readonly log: (line: string) => void },
  input: { readonly chain: ChainClient; readonly file: string; readonly signal: AbortSignal },
): Promise<void> {
  const { chain, file, signal } = input
  while (!signal.aborted) {
    const began = performance.now()
    await saveState(chain, { file, withStates: false }).catch((cause) => {
      deps.log(`${chain.name}: the chain could not be saved: ${String(cause)}`)
    })
    const tookMs = performance.now() - began
    await sleep(Math.max(pauseMs, tookMs * pausePerSave), undefined, { signal, ref: false }).catch(
      () => undefined,
    )
  }
}
