import type { Readiness } from '#api/health-routes.ts'
import { allEnded } from '#base/async.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { type ImpossibleBurns, impossibleBurns } from '#data/burns/dataset.ts'
import { getAnswerCache } from '#data/data-route.ts'
import { registerMigrations } from '#data/datasets.ts'
import { describeAnomalies, type MappingAnomalies, readMappingAnomalies } from '#data/mappings.ts'
import { areHoldersKnown, nameUnknown } from '#data/meta.ts'
import { latestPrice } from '#data/prices/price-book.ts'
import type { Connection, Engine, Migration } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
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
import type { IndexProgress } from './index-progress.ts'

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

export async function readReadiness(ctx: Context, work: ProcessWork): Promise<Readiness> {
  const { ecosystem } = ctx
  const register = await stateOfRegister(ctx.register)
  const accounts = await work.accountsState()
  const state = await getAnswerCache(ctx)
    .state()
    .catch(() => undefined)
  const index = state?.status
  const { burns, anomalies, stalls } = await ctx.register
    .snapshot((reads) => readFindings(reads, ctx, index))
    .catch(() => NO_FINDINGS)
  const parts: Parts = [
    ...describeLogs(anomalies),
    ...burns.map(({ token, detail }) => [`burns ${token}`, `WRONG: ${detail}`] as const),
    ...ecosystem.chains.map(({ id, name }) => {
      const status = index?.chains.find((each) => each.chain.id === id)
      const unknown = register === 'ok' ? 'not indexed yet' : `unknown: the register ${register}`
      const known = status === undefined ? unknown : describeChain(status, unixNow(ctx.clock))
      const stall = stalls.get(id)
      const why = stall === undefined ? '' : `; stalled (${stall.reason}): ${stall.detail}`
      return [`chain ${name}`, `${known}${why}`] as const
    }),
    ...(await describeDeposits(ctx)),
    ...describeNodes(work),
    ...(index === undefined ? [] : describeUnknown(ctx, index)),
    ...(index === undefined ? [] : await describePrices(ctx, index)),
    ...readJobStates(work.jobs, work.leading.jobs).map(describeJob),
    ['register', register],
    ['accounts', accounts],
  ]
  const isRight =
    burns.length === 0 && !ecosystem.chains.some(({ id }) => isUnusable(stalls.get(id)))
  const ready = accounts === 'ok' && register === 'ok' && index !== undefined && isRight
  return { ready, parts: Object.fromEntries(parts) }
}

async function describeDeposits({ ecosystem, accounts }: Context): Promise<Parts> {
  const chain = ecosystem.payment?.chain
  const found =
    chain && (await readUnproven({ run: accounts.read }, chain.id).catch(() => undefined))
  if (chain === undefined || found === undefined) return []
  const { count, reason } = found
  return [[`payments ${chain.name}`, `${count} deposits waiting for a proof: ${reason}`]]
}

function describeUnknown({ ecosystem }: Context, index: IndexStatus): Parts {
  return nameUnknown(index, ecosystem.tokens)
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

function describeJob(state: JobState): Parts[number] {
  const { name, succeededAgo, failedAgo, failure, isLate, whileFailing } = state
  const last = succeededAgo === undefined ? 'has not run yet' : `last success ${succeededAgo} s ago`
  const failed = failure === undefined ? '' : `; failed ${failedAgo} s ago: ${failure}`
  const late = isLate ? `LATE (${whileFailing}): ` : ''
  return [`job ${name}`, `${late}${last}${failed}`]
}

/** Tokens whose price is unknown although the file has a source for it. */
async function describePrices(
  { register, ecosystem }: Context,
  { asOfUnix }: IndexStatus,
): Promise<Parts> {
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
  readonly stalls: Stalls
}

const NO_FINDINGS: Findings = { burns: [], anomalies: [], stalls: new Map() }

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
    stalls: await readStalls(connection),
  }
}

function describeChain(status: ChainStatus, nowUnix: number): string {
  const { blockNumber, headNumber } = status
  return `${judgeCondition(status, nowUnix)} at block ${blockNumber} of ${headNumber}`
}

/** A probe asks every second or so, anyone may ask, and each answer costs a commit. */
const REMEMBERED_MS = 3_000

const UNREACHABLE = 'cannot be reached'

/** Newer migrations than ours are fine: replicas are replaced one by one. */
async function missingMigration(
  engine: Engine,
  migrations: readonly Migration[],
): Promise<string | undefined> {
  const rows = await engine.read(sql`select id from migrations`)
  const applied = new Set(rows.map((row) => column.integer(row, 'id')))
  const missing = migrations.find(({ id }) => !applied.has(id))
  return missing && `is not migrated: ${missing.id} "${missing.name}" is missing`
}

/** `ok`, or what is wrong. */
export async function stateOfRegister(register: Engine): Promise<string> {
  try {
    return (await missingMigration(register, registerMigrations)) ?? 'ok'
  } catch {
    return UNREACHABLE
  }
}

/** `ok`, or why calls cannot be counted; a few seconds old at most. */
export function watchAccounts(
  { accounts, clock }: Pick<Context, 'accounts' | 'clock'>,
  migrations: readonly Migration[],
): () => Promise<string> {
  let asked: { readonly atMs: number; readonly state: Promise<string> } | undefined
  const read = async () => {
    const missing = await missingMigration(accounts, migrations)
    if (missing !== undefined) return missing
    return (await canCommit(accounts))
      ? 'ok'
      : 'cannot be written to: full, read-only, or changed by hand'
  }
  return () => {
    const nowMs = clock()
    if (asked === undefined || Math.abs(nowMs - asked.atMs) >= REMEMBERED_MS)
      asked = { atMs: nowMs, state: read().catch(() => UNREACHABLE) }
    return asked.state
  }
}

/** SQLite writes to the disk at the commit, so a row of the meter is inserted, deleted and committed. */
async function canCommit(accounts: Engine): Promise<boolean> {
  try {
    await accounts.write(async (tx) => {
      await tx.run(sql`
        insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
        values (0, 'readyz', 0, 0, 0, 0, 0)`)
      await tx.run(sql`delete from usage_days where day = 0 and bucket = 'readyz'`)
    })
    return true
  } catch {
    return false
  }
}
