import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compareRegisters, type RegisterDifference } from '#chains/indexer/compare-registers.ts'
import { type ChainStatus, readIndexStatus } from '#chains/indexer/status.ts'
import type { Engine } from '#store/engine.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import type { KillOutcome, KillStage } from '#test/kill-stage.ts'
import { countTraced, readTrace, type WriteCall } from '#test/strace.ts'
import { type IndexPlace, type IndexProcess, startIndexProcess } from './index-process.ts'
import { type KillWorld, makeKillWorld } from './kill-world.ts'

/** The last blocks are read within milliseconds; a loaded machine gets this long. */
const WHOLE_MS = 10_000

const SEED = 1

interface KillDeps {
  readonly strace: string
  readonly world: KillWorld
}

/** An index that reads a small history, and what it makes of it without any interruption. */
export async function prepareRegisterKills(strace: string): Promise<KillStage> {
  const world = await makeKillWorld(SEED)
  const deps = { strace, world }
  try {
    const reference = await indexUninterrupted(deps)
    return {
      count: (calls) => countCalls(deps, calls),
      kill: (call, at) => killAndCompare(deps, { reference, call, at }),
      async stop() {
        await reference.close()
        await world.stop()
      },
    }
  } catch (error) {
    await world.stop()
    throw error
  }
}

/** Kills an index at one write, lets another go on from there, and compares what came of it. */
async function killAndCompare(
  deps: KillDeps,
  input: { readonly reference: Engine; readonly call: WriteCall; readonly at: number },
): Promise<KillOutcome> {
  const { world } = deps
  const { call, at } = input
  const place = world.makePlace(`${call}-${at}`)
  for (const chain of world.chains) chain.rewind()
  const first = startIndexProcess(deps, place, { kind: 'kill', call, at })
  const { signal } = await endOf(first)
  for (const chain of world.chains) chain.finish()
  await endWhole(deps, place)
  const difference = await differenceFrom(input.reference, world, place)
  await rm(place.folder, { recursive: true })
  return { killed: signal === 'SIGKILL', broken: difference === undefined ? [] : [difference] }
}

/** Indexes without any interruption what the chains are in the end. */
async function indexUninterrupted(deps: KillDeps): Promise<Engine> {
  const place = deps.world.makePlace('uninterrupted')
  for (const chain of deps.world.chains) chain.finish()
  await endWhole(deps, place)
  return openRegister(place)
}

/** How often a run that is not killed makes a call. */
async function countCalls(
  deps: KillDeps,
  calls: readonly WriteCall[],
): Promise<ReadonlyMap<WriteCall, number>> {
  const { world } = deps
  const file = world.fileAt('calls')
  for (const chain of world.chains) chain.rewind()
  await endOf(startIndexProcess(deps, world.makePlace('counted'), { kind: 'list', calls, file }))
  return countTraced(await readTrace(file), calls)
}

/** Lets a run catch up, ends it and gives how it ended; throws where it failed by itself. */
async function endOf(run: IndexProcess): Promise<{ readonly signal: string | null }> {
  if ((await run.settled) === 'caught-up') run.stop()
  const { code, signal } = await run.exit
  if (signal === 'SIGKILL' && !run.timedOut()) return { signal }
  if (code !== 0) throw new Error(`the index ended with ${code ?? signal}:\n${run.words()}`)
  return { signal }
}

/** Lets a run index all there is, as its register shows, and ends it. */
async function endWhole(deps: KillDeps, place: IndexPlace): Promise<void> {
  const run = startIndexProcess(deps, place)
  if ((await run.settled) === 'caught-up') await untilWhole(deps.world, place)
  await endOf(run)
}

/** What a process says of its progress does not tell whether older history has met the head. */
async function untilWhole({ ecosystem }: KillWorld, place: IndexPlace): Promise<void> {
  const register = openRegister(place)
  try {
    for (let waitedMs = 0; waitedMs < WHOLE_MS; waitedMs += 20) {
      const status = await register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains))
      const chains = status?.chains ?? []
      if (chains.every((each) => each.backfill === null)) return
      await sleep(20)
    }
    throw new Error('the older history never met the head')
  } finally {
    await register.close()
  }
}

function openRegister(place: IndexPlace): Engine {
  return openSqlite({ file: join(place.folder, 'register.sqlite'), durability: 'normal' })
}

async function differenceFrom(
  reference: Engine,
  world: KillWorld,
  place: IndexPlace,
): Promise<string | undefined> {
  const register = openRegister(place)
  try {
    return await reference.snapshot((expected) =>
      register.snapshot(async (stored) => {
        const [a, b] = [
          await readIndexStatus(stored, world.ecosystem.chains),
          await readIndexStatus(expected, world.ecosystem.chains),
        ]
        const [at, expectedAt] = [a, b].map((status) => status?.chains.map(placeOf).join(', '))
        if (at !== expectedAt) return `it stands at ${at}, not ${expectedAt}`
        const difference = await compareRegisters(
          { connection: stored, dialect: register.dialect },
          { connection: expected, dialect: reference.dialect },
        )
        return difference && inWords(difference)
      }),
    )
  } finally {
    await register.close()
  }
}

function placeOf({ chain, blockNumber, blockHash, backfill }: ChainStatus): string {
  return `${chain.name} ${blockNumber} ${blockHash} ${backfill === null ? 'whole' : 'in part'}`
}

function inWords({ table, key, column, stored, recomputed }: RegisterDifference): string {
  return `${table} ${key}: ${column} is ${stored}, uninterrupted it is ${recomputed}`
}
