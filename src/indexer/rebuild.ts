import type { Position } from '#chain/chain-event.ts'
import { type ChainSource, RpcError } from '#chain/chain-source.ts'
import { follow } from '#chain/follow.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { sleep } from '#lib/sleep.ts'
import type { CommitDeps } from './commit.ts'
import { valueEvents } from './events/value-events.ts'
import { applyEvent, makeFollower } from './run-chain.ts'
import type { ChainStatus } from './status.ts'

/** A node may fail now and then; one that fails this often in a row is no node to audit against. */
const FAILURES_MAX = 5
const RETRY_MS = 500

/** Reads chains from their start into an empty register, exactly up to where another one stands. */
export async function rebuildIndex(
  deps: CommitDeps & {
    sourceOf(chain: Chain): ChainSource
    onProgress(progress: {
      readonly chain: string
      readonly done: number
      readonly total: number
    }): void
  },
  upTo: readonly ChainStatus[],
): Promise<void> {
  for (const status of upTo) {
    const source = pinSource(deps.sourceOf(status.chain), status)
    await catchUp({ ...deps, source }, status)
  }
  const nothingMoved = new Map<string, number>()
  const valueSome = () =>
    deps.engine.write((connection) =>
      valueEvents(connection, deps.prices, nothingMoved, deps.tokens),
    )
  while ((await valueSome()) > 0);
}

/** The chain as it was when the given block was its head. */
function pinSource(source: ChainSource, status: ChainStatus): ChainSource {
  const heights = {
    latest: status.blockNumber,
    safe: status.safeNumber,
    finalized: status.finalizedNumber,
  }
  return {
    ...source,
    header: (block) => source.header(typeof block === 'number' ? block : heights[block]),
  }
}

type CatchUpDeps = Parameters<typeof rebuildIndex>[0] & { readonly source: ChainSource }

async function catchUp(deps: CatchUpDeps, status: ChainStatus): Promise<void> {
  const { chain } = status
  // Heights are pinned, so a chain that knows only tags must not be asked for them again.
  const follower = { ...makeFollower(deps, chain), finality: 'tag' as const }
  let position: Position | undefined
  for (let failures = 0; position?.number !== status.blockNumber; ) {
    try {
      const event = await follow(follower, position)
      position = await applyEvent(deps, { chain, event, position })
      failures = 0
      deps.onProgress({ chain: chain.name, done: position?.number ?? 0, total: status.blockNumber })
    } catch (error) {
      failures += 1
      if (!(error instanceof RpcError) || failures > FAILURES_MAX) throw error
      await sleep(RETRY_MS)
    }
  }
}
