import assert from 'node:assert/strict'
import { systemClock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { allDatasets } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { ChainIndex } from '#index/chain-index.ts'
import type { CommitDeps } from '#index/commit.ts'
import { readIndexStatus } from '#index/status.ts'
import { compareRegisters, type RegisterDifference } from '#ops/audit/compare-registers.ts'
import { rebuildIndex } from '#ops/audit/rebuild.ts'
import { openSource } from '#test/indexed-ecosystem.ts'

/** An index that a test drives one event at a time. */
export interface SteppedIndex {
  readonly deps: CommitDeps
  /** Does the next thing on a chain; gives whether there was any. */
  advance(chain: Chain): Promise<boolean>
}

/** What commits on a register need, by its only writer. */
export function commitDepsOf(engine: Engine, ecosystem: Ecosystem): CommitDeps {
  return {
    engine,
    clock: systemClock,
    leader: { hold: followOneAnother },
    datasets: allDatasets(ecosystem),
    prices: openPriceBook(ecosystem.tokens),
  }
}

/** Commits wait for each other, as those of a leader do. */
async function followOneAnother(connection: Connection): Promise<void> {
  await connection.run(sql`
    insert into leaders (name, epoch) values ('index', 1)
    on conflict (name) do update set epoch = leaders.epoch`)
}

export function stepIndex(
  deps: CommitDeps,
  sourceOf: (chain: Chain) => ChainSource = openSource,
): SteppedIndex {
  const indexes = new Map<number, ChainIndex>()
  return {
    deps,
    async advance(chain) {
      const index =
        indexes.get(chain.id) ?? new ChainIndex({ ...deps, source: sourceOf(chain) }, chain)
      indexes.set(chain.id, index)
      const event = await index.followOnce()
      return event.kind !== 'idle' && event.kind !== 'behind'
    },
  }
}

/** Advances every chain until nothing happens any more. */
export async function advanceAll(index: SteppedIndex, chains: readonly Chain[]): Promise<void> {
  for (const chain of chains) while (await index.advance(chain));
}

/** Builds an empty register up to where another one stands, chain by chain in the order given. */
export async function buildAnew(
  input: { readonly lived: Engine; readonly fresh: Engine; readonly ecosystem: Ecosystem },
  order: (chains: readonly Chain[]) => readonly Chain[] = (chains) => chains,
): Promise<void> {
  const { lived, fresh, ecosystem } = input
  const status = await lived.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
  assert.ok(status !== undefined)
  const upTo = order(ecosystem.chains).flatMap((chain) =>
    status.chains.filter((each) => each.chain.id === chain.id),
  )
  const deps = await commitDepsOf(fresh, ecosystem)
  const building = { ...deps, sourceOf: openSource, onProgress: () => undefined }
  await lived.snapshot((stored) => rebuildIndex(building, stored, upTo))
}

/** The first place where two registers differ, on whichever engines they are. */
export function differenceOf(a: Engine, b: Engine): Promise<RegisterDifference | undefined> {
  return a.snapshot((ofA) =>
    b.snapshot((ofB) =>
      compareRegisters(
        { connection: ofA, dialect: a.dialect },
        { connection: ofB, dialect: b.dialect },
      ),
    ),
  )
}
