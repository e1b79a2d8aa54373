import { existsSync } from 'node:fs'
import { countNoun } from '#base/text.ts'
import type { Clock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import type { Config } from '#config.ts'
import { registerName } from '#data/datasets.ts'
import { StoreError } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError, type Problem } from '#ecosystem/problem.ts'
import { ProofError } from '#index/call-view.ts'
import { type StoreName, storeFile } from '#main/registers.ts'
import { openSources } from '#main/run-index.ts'
import { openStore } from '#main/stores.ts'
import { proveEcosystem, proveStartBlocks } from '#ops/checks/prove-ecosystem.ts'
import { describeError } from './chain-view.ts'
import { joinOutcomes, judgeMappings, type Outcome } from './check-mappings.ts'

interface CheckRequest {
  readonly file: string
  readonly offline: boolean
  onProgress(task: string, done: number, total: number): void
}

export async function checkFile(
  clock: Clock,
  { file, offline, onProgress }: CheckRequest,
): Promise<Outcome> {
  const ecosystem = await loadEcosystem(file).catch((error: unknown) => {
    if (error instanceof EcosystemError) return error
    throw error
  })
  if (ecosystem instanceof EcosystemError) return joinOutcomes([{ errors: ecosystem.problems }])
  if (offline) return joinOutcomes([])
  const endpoints = await checkEndpoints(ecosystem.chains, clock)
  const useless = endpoints.filter(({ isUsable }) => !isUsable)
  const dead = ecosystem.chains.filter(({ rpcUrls }, index) =>
    rpcUrls.every((_, place) => useless.some(({ field }) => field === nameField(index, place))),
  )
  if (dead.length > 0) {
    const names = dead.map(({ name }) => name).join(', ')
    const unchecked = [`all else about the chains: ${names} cannot be asked`]
    return joinOutcomes([{ errors: useless, unchecked }])
  }
  const sourceOf = openSources(ecosystem, SILENT)
  const checks: readonly Promise<Partial<Outcome>>[] = [
    proveEcosystem(ecosystem, sourceOf).then((found) => ({ warnings: found })),
    checkStartBlocks(ecosystem, sourceOf),
    judgeMappings(clock, ecosystem, sourceOf),
  ]
  let done = 0
  const showDone = () => onProgress('checking against the chains', done++, checks.length)
  showDone()
  const outcomes = await Promise.all(
    checks.map((check) => check.catch(toOutcome).finally(showDone)),
  )
  return joinOutcomes([{ warnings: endpoints }, ...outcomes])
}

const SILENT = { debug() {}, info() {}, warn() {} }

async function checkStartBlocks(
  ecosystem: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Partial<Outcome>> {
  const unproven = await proveStartBlocks(ecosystem, sourceOf)
  const say = ([chain, reason]: readonly [string, string]) =>
    `startBlock of ${chain}: no node has the state before it (${reason})`
  return { unchecked: [...unproven].map(say) }
}

function toOutcome(error: unknown): Partial<Outcome> {
  if (error instanceof ProofError) return { errors: error.problems }
  if (error instanceof RpcError) return { unchecked: [error.message] }
  throw error
}

interface EndpointProblem extends Problem {
  /** False if it answers nothing, or for another chain. */
  readonly isUsable: boolean
}

/** Asks each endpoint by itself: the others would cover for one that is wrong. */
export async function checkEndpoints(
  chains: readonly Chain[],
  clock: Clock,
): Promise<readonly EndpointProblem[]> {
  const judged = await Promise.all(
    chains.flatMap((chain, index) =>
      chain.rpcUrls.map(async (url, place) => {
        const problem = await judgeEndpoint(chain, url, clock)
        return problem === undefined ? [] : [{ field: nameField(index, place), ...problem }]
      }),
    ),
  )
  return judged.flat()
}

function nameField(chain: number, place: number): string {
  return `chains[${chain}].rpcUrls[${place}]`
}

/** Blocks may be this far ahead of this machine's clock. */
const CLOCK_SECONDS = 5

async function judgeEndpoint(
  chain: Chain,
  url: string,
  clock: Clock,
): Promise<Omit<EndpointProblem, 'field'> | undefined> {
  const source = openRpcSource({ chainId: chain.id, urls: [url] })
  const useless = (message: string) => ({ message, isUsable: false })
  const doubtful = (message: string) => ({ message, isUsable: true })
  try {
    const id = await source.askChainId()
    if (id !== chain.id)
      return useless(`serves chain ${id}, the file says ${chain.id}; correct the URL or the id`)
    const head = await source.header('latest')
    if (head === undefined) return useless('knows no block; start the node')
    const { number, timestamp } = head
    if (number < chain.startBlock)
      return useless(
        `its head is block ${number}, below startBlock ${chain.startBlock}; correct startBlock, or the URL if the node lags`,
      )
    const ageSeconds = clock() / 1_000 - timestamp
    if (ageSeconds > chain.staleAfterSeconds)
      return doubtful(
        `its head is ${Math.round(ageSeconds)} s old: the node lags, or the chain stands still`,
      )
    if (ageSeconds < -CLOCK_SECONDS)
      return doubtful(
        `its head is ${Math.round(-ageSeconds)} s in the future: this machine's clock is slow; run NTP`,
      )
    return undefined
  } catch (error) {
    return useless(`does not answer (${describeError(error)}); check the URL, or start the node`)
  }
}

/** Config of PostgreSQL under which acknowledged debits can be lost. */
const REFUSED = [
  { name: 'synchronous_commit', values: ['off', 'local'], why: 'a debit must outlive a crash' },
  { name: 'fsync', values: ['off'], why: 'a power loss would lose debits' },
  { name: 'full_page_writes', values: ['off'], why: 'a power loss could damage tables' },
  { name: 'transaction_read_only', values: ['on'], why: 'this is a standby; name the primary' },
]

const FIELD = 'SEXTON_DATABASE_URL'

/** Asks PostgreSQL whether it can be reached, and keeps what it acknowledges. */
export async function checkDatabase({
  database,
}: Pick<Config, 'database'>): Promise<readonly Problem[]> {
  if (database.kind === 'sqlite') return []
  const engine = await openStore('', 'accounts', database)
  try {
    const rows = await engine.read(sql`select name, setting from pg_settings`)
    const values = new Map(rows.map((row) => [row.name, String(row.setting)]))
    return REFUSED.flatMap(({ name, values: refused, why }) => {
      const value = values.get(name) ?? ''
      return refused.includes(value)
        ? [{ field: FIELD, message: `${name} is ${value}: ${why}` }]
        : []
    })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return [{ field: FIELD, message: error.message }]
  } finally {
    await engine.close()
  }
}

/** Says that no register is built from the file yet, and how long building one takes; undefined if one is. */
export async function checkRegister(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  ecosystem: Ecosystem,
): Promise<string | undefined> {
  const name = registerName(ecosystem)
  const isThere = (store: StoreName) =>
    database.kind === 'postgres' || existsSync(storeFile(dataFolder, store))
  const built = isThere('accounts') ? await wholeRegisters(dataFolder, database) : []
  if (isThere(name) && built.some((row) => row.name === name)) return undefined
  const [last] = built
  const minutes = last && Math.max(1, Math.round(column.integer(last, 'seconds') / 60))
  const took = minutes ? `; the last one took ${countNoun(minutes, 'minute')}` : ''
  return `no register is built from this file: run "sexton build" while the service runs, then restart it${took}. A start without it answers \`syncing\` until all is read`
}

/** Newest first. */
async function wholeRegisters(
  dataFolder: string,
  database: Config['database'],
): Promise<readonly Row[]> {
  const accounts = await openStore(dataFolder, 'accounts', database)
  try {
    return await accounts.read(sql`
      select name, whole_unix - made_unix as seconds from registers
      where whole_unix is not null order by made_unix desc`)
  } catch (error) {
    // Accounts that were never used have no tables.
    if (!(error instanceof StoreError)) throw error
    return []
  } finally {
    await accounts.close()
  }
}
