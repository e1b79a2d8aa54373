import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainClient } from '#devnet/chain-client.ts'
import { saveState } from '#devnet/saved-state.ts'

export interface Saving {
  stop(): Promise<void>
}

/** Every few seconds, so that a kill -9 loses little. */
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

// The most that a kill -9 loses.
const pauseMs = 15_000

// Limits saving to about a thirtieth of the time.
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
