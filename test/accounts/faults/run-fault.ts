import { setTimeout as sleep } from 'node:timers/promises'
import { chanceOf } from '#test/chance.ts'
import { compareAccounts } from '../truth/compare-accounts.ts'
import { runLoad } from '../truth/hostile-load.ts'
import { openRawLine } from '../truth/raw-line.ts'
import { makeRecorder } from '../truth/run-truth.ts'
import { Truth } from '../truth/truth.ts'
import { Violations } from '../truth/violations.ts'
import { WhoCalls } from '../truth/who-calls.ts'
import type { AccountsWorld } from '../world/accounts-world.ts'
import { makeOwner, mintSoon } from '../world/owner.ts'
import type { RoleHere } from '../world/role-here.ts'
import type { StoreFault } from './store-fault.ts'

export interface FaultInput {
  readonly world: AccountsWorld
  readonly api: RoleHere
  readonly fault: StoreFault
  /** Processes that the fault is for, asked when it begins. */
  pids(): Promise<readonly number[]>
  readonly lastsMs: number
  /** Between two calls of a caller. */
  readonly pauseMs: number
}

export interface FaultResult {
  readonly violations: readonly string[]
  readonly answers: ReadonlyMap<string, number>
  /** From the end of the fault to the first call that was answered 200 again. */
  readonly recoveredMs: number
}

const PRICE_MICRO_USD = 100
/** So many that the tables grow all the time: a store that only writes anew needs no space. */
const ADDRESSES = 20_000
const LINES = 4
const STEADY_MS = 700

/** The meter asks a store that was down again within seconds; past this it never came back. */
const RECOVERED_MS = 30_000

/**
 * Callers go on while the store fails and after it: they may be told 503 while it lasts, nothing else
 * that is wrong, and every 200 is counted once.
 */
export async function runFault(input: FaultInput): Promise<FaultResult> {
  const { world, api, fault } = input
  const who = new WhoCalls(ADDRESSES)
  const owner = await makeOwner(world.devnet.chains.base.client)
  await world.mine(4)
  who.addKey(owner, await mintSoon(owner, api.url))
  const stop = new AbortController()
  const violations = new Violations()
  const truth = new Truth(who.roster, violations, PRICE_MICRO_USD, { mayBeUnavailable: true })
  const loading = runLoad(makeRecorder(truth), {
    urls: [api.url],
    who,
    calls: Number.POSITIVE_INFINITY,
    chance: chanceOf(fault.name),
    lines: LINES,
    pauseMs: input.pauseMs,
    stop: stop.signal,
  })
  const breaking = breakAndMend(input)
  await Promise.race([loading, breaking])
  const recoveredMs = await breaking
  stop.abort()
  await loading
  await compare(world, { who, truth, violations })
  return { violations: violations.lines(), answers: truth.answers, recoveredMs }
}

async function breakAndMend({ api, fault, pids, lastsMs }: FaultInput): Promise<number> {
  await sleep(STEADY_MS)
  const end = await fault.begin(await pids())
  await sleep(lastsMs)
  await end()
  const ended = performance.now()
  while (!(await isServed(api.url))) {
    if (performance.now() - ended > RECOVERED_MS)
      throw new Error(`${fault.name}: no call was answered again\n${api.words()}`)
    await sleep(20)
  }
  const recoveredMs = performance.now() - ended
  await sleep(STEADY_MS)
  return recoveredMs
}

/** A data call of an address that nobody else calls from. */
async function isServed(url: string): Promise<boolean> {
  const line = openRawLine(url)
  const headers = 'Host: api\r\nX-Forwarded-For: 198.51.100.1\r\n'
  const answer = await line.ask(`GET /api/burns/total HTTP/1.1\r\n${headers}\r\n`, {
    isHead: false,
  })
  line.cut()
  return answer?.status === 200
}

async function compare(
  world: AccountsWorld,
  {
    who,
    truth,
    violations,
  }: { readonly who: WhoCalls; readonly truth: Truth; readonly violations: Violations },
): Promise<void> {
  const accounts = await world.openAccounts()
  await compareAccounts({
    roster: who.roster,
    truth,
    pricePerCall: PRICE_MICRO_USD,
    usage: [],
    accounts,
    violations,
    strangers: ['198.51.100.1'],
  })
  await accounts.close()
}
