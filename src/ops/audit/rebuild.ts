import { sleep } from '#base/async.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { ChainIndex } from '#index/chain-index.ts'
import type { CommitDeps } from '#index/commit.ts'
import { insertFound, readFound } from '#index/found-contracts.ts'
import type { ChainStatus } from '#index/status.ts'

const FAILURES_MAX = 5
const RETRY_MS = 500

/** More means a broken node. */
const STANDSTILLS_MAX = 20

export interface RebuildProgress {
  readonly chain: string
  readonly done: number
  readonly total: number
}

/** Reads the chains up to where the register `stored` is. */
export async function rebuildIndex(
  deps: CommitDeps & {
    sourceOf(chain: Chain): ChainSource
    onProgress(progress: RebuildProgress): void
  },
  stored: Connection,
  upTo: readonly ChainStatus[],
): Promise<void> {
  await copyEmitters(deps, stored)
  for (const status of upTo) {
    const source = pinSource(deps.sourceOf(status.chain), status)
    await catchUp({ ...deps, source }, status)
  }
}

/** No node says at which block a contract was noticed. */
async function copyEmitters({ datasets, engine }: CommitDeps, stored: Connection): Promise<void> {
  const emitters = datasets.flatMap(({ origins }) => origins?.emitters ?? [])
  for (const { found } of emitters) {
    const noticed = await readFound(stored, found)
    const facts = noticed.map(([contract, block]) => ({ found, contract, block }))
    await engine.write((connection) => insertFound(connection, facts))
  }
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
