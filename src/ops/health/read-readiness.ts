import type { Readiness } from '#api/health-routes.ts'
import { allEnded } from '#base/async.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { type ImpossibleBurns, impossibleBurns } from '#data/burns/dataset.ts'
import { getAnswerCache } from '#data/data-route.ts'
import { areHoldersKnown, nameUnknown } from '#data/meta.ts'
import { latestPrice } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import { describeAnomalies, type MappingAnomalies, readMappingAnomalies } from '#index/mappings.ts'
import { type Job, type JobRuns, type JobState, readJobStates } from '#index/run-jobs.ts'
import {
  type ChainStatus,
  type IndexStatus,
  isUnusable,
  judgeCondition,
  readStalls,
  type Stalls,
} from '#index/status.ts'
import { readUnproven } from '#payments/prepayments/deposits.ts'
import { type IndexProgress, toBar } from './index-progress.ts'
import { stateOfRegister } from './store-state.ts'

/** What this process does as a leader. */
export interface Leading {
  /** Whether it indexes. */
  index: boolean
  /** Empty while it does not run the jobs. */
  readonly jobs: JobRuns
}

/** What this process does besides answering. */
export interface ProcessWork {
  readonly jobs: readonly Job[]
  readonly leading: Leading
  indexing(): readonly IndexProgress[]
  accountsState(): Promise<string>
}

/** What a check shows: names of parts, and their states. */
type Parts = readonly (readonly [name: string, state: string])[]

/** What `/readyz` shows, in this order. */
const CHECKS: readonly ((ctx: Context, seen: Seen) => Parts | Promise<Parts>)[] = [
  (_ctx, { anomalies }) => describeLogs(anomalies),
  (_ctx, { burns }) => burns.map(({ token, detail }) => [`burns ${token}`, `WRONG: ${detail}`]),
  describeChains,
  describeDeposits,
  (_ctx, { work }) => describePace(work),
  (_ctx, { work }) => describeNodes(work),
  describeUnknown,
  describePrices,
  (_ctx, { work: { jobs, leading } }) =>
    readJobStates(jobs, leading.jobs).map((state) => [`job ${state.name}`, describeJob(state)]),
  (_ctx, { register, accounts }) => [
    ['register', register],
    ['accounts', accounts],
  ],
]

interface Seen extends Findings {
  readonly work: ProcessWork
  readonly register: string
  readonly accounts: string
  readonly index: IndexStatus | undefined
  readonly stalls: Stalls
}

export async function readReadiness(ctx: Context, work: ProcessWork): Promise<Readiness> {
  const { ecosystem, register } = ctx
  const state = await getAnswerCache(ctx)
    .state()
    .catch(() => undefined)
  const index = state?.status
  const seen: Seen = {
    work,
    register: await stateOfRegister(register),
    index,
    ...(await register
      .snapshot((reads) => readFindings(reads, ctx, index))
      .catch(() => NO_FINDINGS)),
    stalls: await register.snapshot(readStalls).catch(() => new Map()),
    accounts: await work.accountsState(),
  }
  const parts: Parts[] = []
  for (const check of CHECKS) parts.push(await check(ctx, seen))
  const isRight =
    seen.burns.length === 0 && !ecosystem.chains.some(({ id }) => isUnusable(seen.stalls.get(id)))
  const ready = seen.accounts === 'ok' && seen.register === 'ok' && index !== undefined && isRight
  return { ready, parts: Object.fromEntries(parts.flat()) }
}

function describeChains({ ecosystem, clock }: Context, seen: Seen): Parts {
  const { register, index, stalls } = seen
  const unknown = register === 'ok' ? 'not indexed yet' : `unknown: the register ${register}`
  return ecosystem.chains.map(({ id, name }) => {
    const status = index?.chains.find((each) => each.chain.id === id)
    const known = status === undefined ? unknown : describeChain(status, unixNow(clock))
    const stall = stalls.get(id)
    const why = stall === undefined ? '' : `; stalled (${stall.reason}): ${stall.detail}`
    return [`chain ${name}`, `${known}${why}`]
  })
}

async function describeDeposits({ ecosystem, accounts }: Context): Promise<Parts> {
  const chain = ecosystem.payment?.chain
  const found =
    chain && (await readUnproven({ run: accounts.read }, chain.id).catch(() => undefined))
  if (chain === undefined || found === undefined) return []
  const { count, reason } = found
  return [[`payments ${chain.name}`, `${count} deposits waiting for a proof: ${reason}`]]
}

function describePace({ indexing }: ProcessWork): Parts {
  const reading = indexing().filter(({ history }) => history !== null)
  return reading.map((each) => [`pace ${each.chain}`, toBar(each).detail])
}

function describeUnknown({ ecosystem }: Context, { index }: Seen): Parts {
  const found = index === undefined ? [] : nameUnknown(index, ecosystem.tokens)
  return found
    .filter(({ token }) => token !== null)
    .map(({ token, dataset, chain, reason, detail }) => [
      `${dataset} of ${token} on ${chain}`,
      `unknown (${reason}): ${detail}`,
    ])
}

/** Notes about unlisted tokens apart: they need no action. */
function describeLogs(anomalies: readonly MappingAnomalies[]): Parts {
  const groups = Map.groupBy(anomalies, ({ mapping, chain, kind }) => {
    const of = kind === 'unlisted' ? 'of unlisted tokens for' : 'of'
    return `logs ${of} ${mapping} on ${chain}`
  })
  return [...groups].map(([name, group]) => [name, group.map(describeAnomalies).join('; ')])
}

/** Shows the nodes of this process's index. */
function describeNodes({ indexing }: ProcessWork): Parts {
  return indexing().flatMap(({ chain, endpoints }) =>
    endpoints.map(({ host, state, reason }): Parts[number] => [
      `node ${host} of ${chain}`,
      reason ? `${state}: ${reason}` : state,
    ]),
  )
}

function describeJob(state: JobState): string {
  const { succeededAgo, failedAgo, failure, isLate, whileFailing } = state
  const last = succeededAgo === undefined ? 'has not run yet' : `last success ${succeededAgo} s ago`
  const failed = failure === undefined ? '' : `; failed ${failedAgo} s ago: ${failure}`
  return isLate ? `LATE (${whileFailing}): ${last}${failed}` : `${last}${failed}`
}

/** Tokens whose price is unknown although the file has a source for it. */
async function describePrices({ register, ecosystem }: Context, { index }: Seen): Promise<Parts> {
  if (index === undefined) return []
  const { asOfUnix } = index
  const priced = ecosystem.tokens.filter((token) => token.prices.length > 0)
  const found = await register
    .snapshot((reads) =>
      allEnded(priced.map(({ symbol }) => latestPrice({ ecosystem }, reads, symbol, asOfUnix))),
    )
    .catch(() => [])
  return found.flatMap(
    (latest, at): Parts =>
      'gap' in latest
        ? [[`price of ${priced[at]?.symbol}`, `unknown (${latest.gap} of ${latest.symbol})`]]
        : [],
  )
}

/** Replaces RPC hosts by their number in the file, and leaves out why a job failed. */
export function publicReadiness(readiness: Readiness, chains: readonly Chain[]): Readiness {
  const urls = chains.flatMap(({ rpcUrls }) => rpcUrls).map((url) => new URL(url))
  // Single-word hosts reveal nothing and may equal a chain's name.
  const names = urls.flatMap(({ host, hostname }, index) =>
    [host, hostname]
      .filter((each) => /[.:]/.test(each))
      .map((each): readonly [string, string] => [each, `#${index + 1}`]),
  )
  // One host may be the prefix of another.
  names.sort(([one], [other]) => other.length - one.length)
  const hide = (text: string) =>
    names.reduce((hidden, [host, name]) => hidden.replaceAll(host, name), text)
  const parts = Object.entries(readiness.parts).map(([name, state]) => [
    hide(name),
    name.startsWith('job ') ? state.replace(/( s ago): .*/s, '$1') : hide(state),
  ])
  return { ...readiness, parts: Object.fromEntries(parts) }
}

interface Findings {
  /** Burns above the minted supply, once all chains are at their head. */
  readonly burns: readonly ImpossibleBurns[]
  readonly anomalies: readonly MappingAnomalies[]
}

const NO_FINDINGS: Findings = { burns: [], anomalies: [] }

async function readFindings(
  connection: Connection,
  { ecosystem, clock }: Context,
  index: IndexStatus | undefined,
): Promise<Findings> {
  const isRead = ({ chains }: IndexStatus) =>
    chains.every((each) => judgeCondition(each, unixNow(clock)) !== 'syncing')
  const known =
    index !== undefined && isRead(index)
      ? ecosystem.tokens.filter((token) => areHoldersKnown(index, token))
      : []
  return {
    burns: await impossibleBurns(connection, known),
    anomalies: await readMappingAnomalies(connection, ecosystem),
  }
}

function describeChain(status: ChainStatus, nowUnix: number): string {
  const { blockNumber, headNumber } = status
  return `${judgeCondition(status, nowUnix)} at block ${blockNumber} of ${headNumber}`
}
