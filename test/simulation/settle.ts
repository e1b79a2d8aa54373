import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { startIndexer } from '#test/indexed-ecosystem.ts'
import { differenceOf } from '#test/stepped-index.ts'
import { checkSnapshot } from './check-snapshot.ts'
import { checkTruth } from './check-truth.ts'
import type { FastTime } from './fast-time.ts'
import type { Indexers } from './indexers.ts'
import type { SimulatedStore } from './simulated-store.ts'
import type { World } from './world.ts'

interface SettleDeps {
  readonly world: World
  readonly indexers: Indexers
  readonly store: SimulatedStore
  readonly time: FastTime
}

/**
 * Longest way back: an endpoint that was set aside again and again is asked again, and a lease that
 * a dead holder took before the clock was turned back has run out.
 */
const SETTLE_MS = 30 * 60_000

/** A register that is right but for what follows a moment later is looked at again. */
const LOOK_MS = [0, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000]

/** Waits until the register equals one that had no trouble; gives how long that took. */
export async function settle(deps: SettleDeps): Promise<number> {
  const { world, store, time } = deps
  const startedMs = time.now()
  await untilAtHeads(deps, store.lived)
  const atHeadsMs = time.now() - startedMs
  await indexAnew(deps)
  let wrong: string | undefined
  for (const waitMs of LOOK_MS) {
    await time.pass(waitMs)
    await checkSnapshot(store.lived, world)
    wrong = await differenceFromFresh(store)
    if (wrong === undefined) break
  }
  if (wrong !== undefined) throw new Error(wrong)
  await checkTruth(store.lived, world)
  return atHeadsMs
}

async function untilAtHeads({ time, world }: SettleDeps, register: Engine): Promise<void> {
  const startedMs = time.now()
  for (let waitMs = 100; !(await isAtHeads(register, world)); waitMs *= 1.3) {
    if (time.now() - startedMs > SETTLE_MS)
      throw new Error(`does not settle: ${JSON.stringify(await positionsOf(register))}`)
    await time.pass(waitMs)
  }
}

async function isAtHeads(register: Engine, world: World): Promise<boolean> {
  const positions = new Map((await positionsOf(register)).map((row) => [row.chain_id, row]))
  return world.chains.every(({ id, finalDepth, truth: { head } }) => {
    const row = positions.get(id)
    return row?.hash === head.hash && row.finalized_number === head.number - finalDepth
  })
}

function positionsOf(register: Engine) {
  return register.read(sql`
    select chain_id, number, hash, finalized_number from positions order by chain_id`)
}

async function indexAnew(deps: SettleDeps): Promise<void> {
  const { store, time, world } = deps
  const indexer = startIndexer({ ecosystem: world.honest, register: store.fresh, clock: time.now })
  try {
    await untilAtHeads(deps, store.fresh)
  } finally {
    await time.until(indexer.stop(), SETTLE_MS)
  }
}

async function differenceFromFresh({ lived, fresh }: SimulatedStore): Promise<string | undefined> {
  const difference = await differenceOf(lived, fresh)
  return (
    difference &&
    `${difference.table} ${difference.key}: ${difference.column} is ${difference.stored}, a fresh index has ${difference.recomputed}`
  )
}
