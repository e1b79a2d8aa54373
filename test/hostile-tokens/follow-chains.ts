import type { Engine } from '#db/engine.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { ChainIndex } from '#index/chain-index.ts'
import type { CommitDeps } from '#index/commit.ts'
import { StallNote } from '#index/status.ts'
import { openSource } from '#test/indexed-ecosystem.ts'
import { commitDepsOf } from '#test/stepped-index.ts'

/** An index of a world that a test drives step by step, and that notes stalls as a process does. */
export interface FollowedChains {
  /** Does the next thing on a chain; false when there is none, or when it fails again and again. */
  advance(chain: Chain): Promise<boolean>
  /** The newest failures, oldest first. */
  failures(): readonly Error[]
}

export async function followChains(
  register: Engine,
  ecosystem: Ecosystem,
): Promise<FollowedChains> {
  const deps = await commitDepsOf(register, ecosystem)
  const { chains } = ecosystem
  const followed = new Map(chains.map((chain) => [chain.id, followChain(deps, chain)]))
  return {
    advance: async (chain) => (await followed.get(chain.id)?.advance()) ?? false,
    failures: () => [...followed.values()].flatMap(({ failures }) => failures.slice(-1)),
  }
}

/** A reorganisation between two calls fails once or twice; honest nodes never fail more often. */
const FAILURES_MAX = 8

function followChain(deps: CommitDeps, chain: Chain) {
  const index = new ChainIndex({ ...deps, source: openSource(chain) }, chain)
  const note = new StallNote(deps, chain.id)
  const failures: Error[] = []
  return {
    failures,
    async advance() {
      if (failures.length >= FAILURES_MAX) return false
      try {
        const { kind } = await index.followOnce()
        await note.worked()
        return kind !== 'idle' && kind !== 'behind'
      } catch (error) {
        failures.push(error instanceof Error ? error : new Error(String(error)))
        await note.failed(error)
        return true
      }
    },
  }
}
