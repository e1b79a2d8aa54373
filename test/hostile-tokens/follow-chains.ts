import { openRpcSource } from '#chain/rpc-source.ts'
import type { Engine } from '#db/engine.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { ChainIndex } from '#index/chain-index.ts'
import type { CommitDeps } from '#index/commit.ts'
import { StallNote } from '#index/status.ts'
import { movableTiming } from '#test/scripted-node.ts'
import { commitDepsOf } from '#test/stepped-index.ts'

/** An index of a world that a test drives step by step, and that notes stalls as a process does. */
export interface FollowedChains {
  /** Does the next thing on a chain; false when there is none, or when it fails again and again. */
  advance(chain: Chain): Promise<boolean>
  /** Goes on as a new process. */
  restart(): void
  /** The newest failures, oldest first. */
  failures(): readonly Error[]
}

export async function followChains(
  register: Engine,
  ecosystem: Ecosystem,
): Promise<FollowedChains> {
  const deps = await commitDepsOf(register, ecosystem)
  const { chains } = ecosystem
  const begin = () => new Map(chains.map((chain) => [chain.id, followChain(deps, chain)]))
  let followed = begin()
  return {
    advance: async (chain) => (await followed.get(chain.id)?.advance()) ?? false,
    restart() {
      followed = begin()
    },
    failures: () => [...followed.values()].flatMap(({ failures }) => failures.slice(-1)),
  }
}

/** More in a row than broken nodes cause before they are well again. */
const FAILURES_MAX = 40

function followChain(deps: CommitDeps, chain: Chain) {
  const index = new ChainIndex(
    {
      ...deps,
      source: openRpcSource({ chainId: chain.id, urls: chain.rpcUrls, timing: movableTiming() }),
    },
    chain,
  )
  const note = new StallNote(deps, chain.id)
  const failures: Error[] = []
  let inARow = 0
  return {
    failures,
    async advance() {
      if (inARow >= FAILURES_MAX) return false
      try {
        const { kind } = await index.followOnce()
        await note.worked()
        inARow = 0
        return kind !== 'idle' && kind !== 'behind'
      } catch (error) {
        inARow += 1
        failures.push(error instanceof Error ? error : new Error(String(error)))
        await note.failed(error)
        return true
      }
    },
  }
}
