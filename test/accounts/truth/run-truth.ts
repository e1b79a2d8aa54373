import { mintUsdc } from '#devnet/actions.ts'
import type { Devnet } from '#devnet/start-devnet.ts'
import { type Chance, chanceOf } from '#test/chance.ts'
import { type AccountsWorld, startAccountsWorld } from '../world/accounts-world.ts'
import { makeOwner, mintSoon, type Owner } from '../world/owner.ts'
import type { RoleProcess } from '../world/role-process.ts'
import { askUsage } from './ask-usage.ts'
import { type Compared, compareAccounts } from './compare-accounts.ts'
import { runLoad } from './hostile-load.ts'
import { type Deeds, deposit, liveAsOwners } from './owner-life.ts'
import type { Recorder } from './record-call.ts'
import { Truth } from './truth.ts'
import { Violations } from './violations.ts'
import { WhoCalls } from './who-calls.ts'

export interface TruthInput {
  readonly calls: number
  /** API processes; more than one needs PostgreSQL. */
  readonly replicas: number
  readonly databaseUrl: string | undefined
  /** Chains of several runs; new ones unless given. */
  readonly devnet?: Devnet
  readonly seed: string
  /** Whether `sexton audit` has the last word. */
  readonly audit: boolean
  /** Ends the load before all calls are made; what was called by then is compared. */
  readonly stop?: AbortSignal
  /** Told every second how many calls were made. */
  onProgress(calls: number): void
}

export interface TruthResult {
  /** Broken promises in words; none where all is exact. */
  readonly violations: readonly string[]
  readonly answers: ReadonlyMap<string, number>
  readonly deeds: Deeds
  readonly compared: Compared
  readonly lost: number
  readonly calls: number
  readonly seconds: number
}

const PRICE_MICRO_USD = 100
const LINES = 64
const PROGRESS_MS = 1_000

/** Runs the load against real processes, and compares what callers saw with what was counted. */
export async function runTruth(input: TruthInput): Promise<TruthResult> {
  const plan = planFor(input.calls)
  const world = await startAccountsWorld({
    databaseUrl: input.databaseUrl,
    devnet: input.devnet,
    quotas: plan.quotas,
  })
  try {
    const apis = await startApis(world, input)
    const chance = chanceOf(input.seed)
    const who = new WhoCalls(plan.addresses)
    const owners = await settleOwners(world, { who, plan, url: apis[0].url })
    const violations = new Violations()
    const truth = new Truth(who.roster, violations, PRICE_MICRO_USD)
    const recorder = makeRecorder(truth)
    const started = performance.now()
    const deeds = await loadAndLive(recorder, { input, plan, world, apis, chance, who, owners })
    const seconds = (performance.now() - started) / 1_000
    const compared = await compare(world, { who, truth, violations, url: apis[0].url })
    if (input.audit) await audit(world, violations)
    for (const api of apis) await api.stop()
    const lost = [...truth.buckets.values()].reduce((sum, bucket) => sum + bucket.lost, 0)
    const lines = violations.lines()
    const calls = recorder.made()
    const { answers } = truth
    return { violations: lines, answers, deeds, compared, lost, calls, seconds }
  } finally {
    await world.stop()
  }
}

interface Plan {
  readonly owners: number
  readonly addresses: number
  readonly quotas: { readonly anonymous: number; readonly free: number; readonly premium: number }
  readonly paymentMost: number
}

/** About half of all calls fit in quotas, a tenth is paid, the rest is refused. */
function planFor(calls: number): Plan {
  const owners = Math.max(4, Math.min(24, Math.round(calls / 5_000)))
  const addresses = Math.max(12, Math.min(4_000, Math.round(calls / 500)))
  const free = Math.ceil((0.6 * calls) / owners / 2.5)
  const anonymous = Math.ceil((0.4 * calls) / addresses / 1.5)
  return {
    owners,
    addresses,
    quotas: { anonymous, free, premium: 2 * free },
    paymentMost: Math.ceil((0.02 * calls) / owners) * 10 * PRICE_MICRO_USD,
  }
}

type Apis = readonly [RoleProcess, ...RoleProcess[]]

/** Processes that each can lead. */
async function startApis(world: AccountsWorld, input: TruthInput): Promise<Apis> {
  const first = await world.start('start')
  // Tables are there once the first is ready.
  await first.ready()
  const another = () => world.start('start')
  const others = await Promise.all(Array.from({ length: input.replicas - 1 }, another))
  await Promise.all(others.map((each) => each.ready()))
  return [first, ...others]
}

const KEYS_PER_OWNER = 3
const PURSE_MICRO_USD = 1_000_000_000n

async function settleOwners(
  world: AccountsWorld,
  { who, plan, url }: { readonly who: WhoCalls; readonly plan: Plan; readonly url: string },
): Promise<readonly Owner[]> {
  const base = world.devnet.chains.base.client
  const owners: Owner[] = []
  for (let index = 0; index < plan.owners; index += 1) {
    const owner = await makeOwner(base)
    await mintUsdc(base, { to: owner.account.address, amount: PURSE_MICRO_USD })
    owners.push(owner)
  }
  await world.mine(4)
  for (let key = 0; key < KEYS_PER_OWNER; key += 1)
    for (const owner of owners) who.addKey(owner, await mintSoon(owner, url))
  return owners
}

export function makeRecorder(truth: Truth): Recorder & { made(): number } {
  let calls = 0
  return {
    note: (entry) => truth.follow(entry),
    made: () => calls,
    nextCall() {
      calls += 1
      return calls
    },
  }
}

interface Running {
  readonly input: TruthInput
  readonly plan: Plan
  readonly world: AccountsWorld
  readonly apis: Apis
  readonly chance: Chance
  readonly who: WhoCalls
  readonly owners: readonly Owner[]
}

async function loadAndLive(
  recorder: ReturnType<typeof makeRecorder>,
  { input, plan, world, apis, chance, who, owners }: Running,
): Promise<Deeds> {
  const stop = new AbortController()
  const [first, ...others] = apis
  const urls = [first.url, ...others.map(({ url }) => url)] as const
  const showing = setInterval(() => input.onProgress(recorder.made()), PROGRESS_MS)
  const life = {
    urls,
    base: world.devnet.chains.base.client,
    mine: world.mine,
    chance: chance.apart('owners'),
    paymentMost: plan.paymentMost,
  }
  // Each wallet begins with money on one of its keys.
  await Promise.all(who.keys.slice(0, plan.owners).map((key) => deposit(recorder, life, key)))
  const living = liveAsOwners(recorder, { ...life, who, owners }, stop.signal)
  const { calls, stop: ending } = input
  const load = { urls, who, calls, chance, lines: LINES, ...(ending && { stop: ending }) }
  const loading = runLoad(recorder, load)
  try {
    await Promise.race([loading, living, gone(apis)])
    await loading
  } finally {
    stop.abort()
    clearInterval(showing)
  }
  return await living
}

/** Rejects as soon as an API process ends. */
async function gone(apis: readonly RoleProcess[]): Promise<never> {
  const ended = await Promise.race(
    apis.map(async (each) => {
      await each.exit
      return each
    }),
  )
  throw new Error(`an API process ended by itself:\n${ended.words()}`)
}

async function compare(
  world: AccountsWorld,
  {
    who,
    truth,
    violations,
    url,
  }: {
    readonly who: WhoCalls
    readonly truth: Truth
    readonly violations: Violations
    readonly url: string
  },
): Promise<Compared> {
  const usage = await askUsage(url, [...who.addresses, ...who.keys])
  const accounts = await world.openAccounts()
  try {
    return await compareAccounts({
      roster: who.roster,
      truth,
      pricePerCall: PRICE_MICRO_USD,
      usage,
      accounts,
      violations,
    })
  } finally {
    await accounts.close()
  }
}

async function audit(world: AccountsWorld, violations: Violations): Promise<void> {
  const { code, words } = await world.audit()
  if (code === 0) return
  const wrong = words.split('\n').filter((line) => line.startsWith('WRONG'))
  violations.add('sexton audit finds nothing', wrong.join('; ') || words.slice(-500))
}
