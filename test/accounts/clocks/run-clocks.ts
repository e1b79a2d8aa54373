import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_SECONDS, HOUR_SECONDS, nextMidnight } from '#lib/time.ts'
import { chanceOf } from '#test/simulation/chance.ts'
import { type Compared, compareAccounts } from '../truth/compare-accounts.ts'
import { runLoad } from '../truth/hostile-load.ts'
import { openJournal, readJournal } from '../truth/journal.ts'
import { Truth } from '../truth/truth.ts'
import { Violations } from '../truth/violations.ts'
import { WhoCalls } from '../truth/who-calls.ts'
import { type AccountsWorld, startAccountsWorld } from '../world/accounts-world.ts'
import { makeOwner, mintSoon } from '../world/owner.ts'
import type { RoleProcess } from '../world/role-process.ts'
import { forgetMovedProcess, type MovedClock, makeMovedClock } from './moved-clock.ts'

export interface ClocksInput {
  readonly libfaketime: string
  /** Two replicas 90 s apart on PostgreSQL; one process on SQLite without it. */
  readonly databaseUrl: string | undefined
  /** How long the callers go on after each move. */
  readonly stayMs: number
  /** Between two calls of a caller. */
  readonly pauseMs: number
  onMove(move: string): void
}

export interface ClocksResult {
  readonly violations: readonly string[]
  readonly answers: ReadonlyMap<string, number>
  readonly compared: Compared
  /** UTC days that calls were counted on. */
  readonly days: number
}

const PRICE_MICRO_USD = 100
const QUOTAS = { anonymous: 30, free: 75, premium: 150 }
const ADDRESSES = 8
const OWNERS = 2
const LINES = 3
const SKEW_MS = 90_000
const HOUR_MS = HOUR_SECONDS * 1_000
const DAY_MS = DAY_SECONDS * 1_000

/** Before midnight by so much real time. */
const RUN_UP_MS = 1_000

interface Replica {
  readonly api: RoleProcess
  readonly clock: MovedClock
  readonly skewMs: number
}

/**
 * Callers go on while the clocks of the services pass midnight, jump an hour ahead
 * and back, and a day ahead and back; then what they saw is compared with what was counted.
 */
export async function runClocks(input: ClocksInput): Promise<ClocksResult> {
  const { databaseUrl } = input
  const world = await startAccountsWorld({ databaseUrl, quotas: QUOTAS })
  try {
    const replicas = await startReplicas(world, input)
    const who = new WhoCalls(ADDRESSES)
    const base = world.devnet.chains.base.client
    for (let index = 0; index < OWNERS; index += 1) {
      const owner = await makeOwner(base)
      await world.mine(4)
      who.addKey(owner, await mintSoon(owner, replicas[0]?.api.url ?? ''))
    }
    const file = join(world.folder, 'journal')
    await callWhileClocksMove(replicas, { input, who, file })
    return await judge(world, { who, file })
  } finally {
    await world.stop()
  }
}

async function startReplicas(
  world: AccountsWorld,
  { libfaketime, databaseUrl }: ClocksInput,
): Promise<readonly Replica[]> {
  const start = async (skewMs: number): Promise<Replica> => {
    const clock = makeMovedClock(libfaketime, join(world.folder, `clock-${skewMs}`))
    clock.set(skewMs)
    const api = await world.start('start', { environment: clock.environment })
    void api.exit.then(() => forgetMovedProcess(api.pid))
    await api.ready()
    return { api, clock, skewMs }
  }
  if (databaseUrl === undefined) return [await start(0)]
  return [await start(0), await start(SKEW_MS)]
}

async function callWhileClocksMove(
  replicas: readonly Replica[],
  { input, who, file }: { input: ClocksInput; who: WhoCalls; file: string },
): Promise<void> {
  const journal = openJournal(file)
  const stop = new AbortController()
  let calls = 0
  const nextCall = () => {
    calls += 1
    return calls
  }
  const loads = replicas.map(({ api, clock }, index) =>
    runLoad(
      { journal, nextCall, sentClock: clock.earliestMs, clock: clock.latestMs },
      {
        urls: [api.url],
        who,
        calls: Number.POSITIVE_INFINITY,
        chance: chanceOf(`clocks ${index}`),
        lines: LINES,
        pauseMs: input.pauseMs,
        stop: stop.signal,
      },
    ),
  )
  const loading = Promise.all(loads)
  const moving = async () => {
    for (const [move, aheadMs] of moves()) {
      for (const { clock, skewMs } of replicas) clock.set(aheadMs() + skewMs)
      input.onMove(move)
      await sleep(input.stayMs)
    }
  }
  await Promise.race([moving(), loading])
  stop.abort()
  await loading
  journal.close()
}

/** Where the clocks go, as time ahead of the real one. */
function moves(): readonly (readonly [move: string, aheadMs: () => number])[] {
  const midnightMs = nextMidnight(Math.floor(Date.now() / 1_000)) * 1_000
  const startMs = Date.now()
  /** Shows a moment now, and goes on from there. */
  const show = (momentMs: number) => () => momentMs - Date.now()
  const before = midnightMs - RUN_UP_MS
  const passed = () => before - startMs
  return [
    ['to a second before midnight', show(before)],
    ['back to a second before midnight', show(before)],
    ['to where the slower one is a second before midnight', show(before - SKEW_MS)],
    ['an hour ahead', () => passed() + HOUR_MS],
    ['an hour back, into the day before', () => passed() - HOUR_MS],
    ['a day ahead', () => passed() + DAY_MS],
    ['to a second before the next midnight', show(before + DAY_MS)],
    ['a day back', show(before)],
  ]
}

async function judge(
  world: AccountsWorld,
  { who, file }: { readonly who: WhoCalls; readonly file: string },
): Promise<ClocksResult> {
  const violations = new Violations()
  const truth = new Truth(who.roster, violations, PRICE_MICRO_USD)
  for await (const entry of readJournal(file)) truth.follow(entry)
  const accounts = await world.openAccounts()
  const compared = await compareAccounts({
    roster: who.roster,
    truth,
    pricePerCall: PRICE_MICRO_USD,
    usage: [],
    accounts,
    violations,
  })
  await accounts.close()
  const days = new Set([...truth.buckets.values()].flatMap(({ days }) => [...days.keys()]))
  return { violations: violations.lines(), answers: truth.answers, compared, days: days.size }
}
