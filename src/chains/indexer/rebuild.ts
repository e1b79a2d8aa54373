import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { sleep } from '#lib/async.ts'
import { ChainIndex } from './chain-index.ts'
import { valueEvents } from './events/value-events.ts'
import type { ChainStatus } from './status.ts'
import type { CommitDeps } from './transaction.ts'

const FAILURES_MAX = 5
const RETRY_MS = 500

/** More means a broken node. */
const STANDSTILLS_MAX = 20

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
  const valueSome = () =>
    deps.engine.write((connection) => valueEvents(connection, deps.prices, deps.tokens))
  while ((await valueSome()) > 0);
}

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
  // The other register says which blocks are final, so no depth needs to be assumed.
  const chain = { ...status.chain, finality: 'tag' as const }
  const total = status.blockNumber
  const onRead = ({ number }: { readonly number: number }) =>
    deps.onProgress({ chain: chain.name, done: number, total })
  const index = new ChainIndex({ ...deps, onRead }, chain)
  let standstills = 0
  for (let failures = 0; index.position?.number !== total; ) {
    if (standstills > STANDSTILLS_MAX)
      throw new RpcError(
        `${chain.name} keeps reorganising at block ${total}; audit again when its head is stable`,
      )
    try {
      const { kind } = await index.followOnce()
      if (kind !== 'history' && kind !== 'blocks') {
        standstills += 1
        await sleep(RETRY_MS)
      }
      failures = 0
      deps.onProgress({ chain: chain.name, done: index.position?.number ?? 0, total })
    } catch (error) {
      failures += 1
      if (!(error instanceof RpcError) || failures > FAILURES_MAX) throw error
      await sleep(RETRY_MS)
    }
  }
}
