import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import { formatDecimal } from '#base/money.ts'
import { type Clock, unixNow } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import type { Config } from '#config.ts'
import type { Context } from '#context.ts'
import { impossibleBurns, UNMINTED } from '#data/burns/dataset.ts'
import { BURNS, isTransferOfToken } from '#data/burns/kind.ts'
import { allDatasets, registerMigrations } from '#data/datasets.ts'
import { sumTotal, sumTotals } from '#data/events/sums.ts'
import { readTotalSupply, sumCirculating, sumTotalSupply } from '#data/holders/queries.ts'
import { describeAnomalies, readMappingAnomalies } from '#data/mappings.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, inNames, type Row, sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { type StoreState, streamTable } from '#db/stream-table.ts'
import type { Chain, Ecosystem, EventSource, PricedToken } from '#ecosystem/ecosystem.ts'
import { askContract, askSupply } from '#index/call-view.ts'
import { Leader } from '#index/leader.ts'
import {
  type ChainStatus,
  type IndexStatus,
  judgeCondition,
  readIndexStatus,
} from '#index/status.ts'
import { openSources } from '#main/run-index.ts'
import { openStores } from '#main/stores.ts'
import { proveEcosystem } from '#ops/checks/prove-ecosystem.ts'
import { auditAccounts } from './audit-accounts.ts'
import { compareRegisters } from './compare-registers.ts'
import { type RebuildProgress, rebuildIndex } from './rebuild.ts'

interface AuditInput {
  readonly config: Config
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly logger: Context['logger']
  onProgress(progress: {
    readonly task: string
    readonly done: number
    readonly total: number
  }): void
  note(line: string): void
}

interface AuditDeps extends Omit<AuditInput, 'config' | 'logger'> {
  readonly register: Engine
  sourceOf(chain: Chain): ChainSource
}

/** A reorg during the audit needs another attempt. */
const TRIES_MAX = 5
const TRY_AGAIN_MS = 2_000

/**
 * Returns every difference of the accounts and the first of the register. Throws ProofError if the chains cannot be
 * read or are not those of the file.
 */
export async function auditAll(input: AuditInput): Promise<readonly string[]> {
  const { ecosystem } = input
  const stores = await openStores(input.config, input.ecosystem)
  try {
    const sourceOf = openSources(ecosystem, input.logger)
    await proveEcosystem(ecosystem, sourceOf)
    const register = await auditUntilStill({ ...input, register: stores.register, sourceOf })
    const anomalies = await stores.register.snapshot((reads) =>
      readMappingAnomalies(reads, ecosystem),
    )
    const unread = anomalies
      .filter(({ kind }) => kind === 'unreadable')
      .map((each) => `${each.mapping} on ${each.chain}: ${describeAnomalies(each)}`)
    for (const each of anomalies)
      if (each.kind === 'unlisted')
        input.note(`${each.mapping} on ${each.chain}: ${describeAnomalies(each)}`)
    const ctx = { ...input, ...stores, admissions: stores.accounts }
    const accounts = await auditAccounts(ctx, { pause, note: input.note })
    return [...register, ...unread, ...accounts]
  } finally {
    await stores.close()
  }
}

const pause = () => sleep(TRY_AGAIN_MS)

async function auditUntilStill(deps: AuditDeps): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const { difference, moved } = await auditRegister(deps)
    if (moved === undefined) return difference === undefined ? [] : [difference]
    if (attempt === TRIES_MAX)
      return [
        `${moved}: a reorg removed the indexed block in each of ${TRIES_MAX} attempts; check that the index is running`,
      ]
    deps.note(`${moved}: reorg during the audit; retrying`)
    await pause()
  }
}

/** The first difference, or the chain with a reorg that the index has not followed yet. */
interface RegisterVerdict {
  readonly difference?: string
  readonly moved?: string
}

/**
 * Builds a second index up to the indexed blocks in a temporary file, compares row by row, and asks the token
 * contracts for balances and supplies.
 */
export function auditRegister(deps: AuditDeps): Promise<RegisterVerdict> {
  return deps.register.snapshot(async (stored) => {
    const status = await readIndexStatus(stored, deps.ecosystem.chains)
    if (status === undefined)
      return { difference: 'this ecosystem file has no register yet: run "sexton build" first' }
    const nowUnix = unixNow(deps.clock)
    const syncing = status.chains.find((each) => judgeCondition(each, nowUnix) === 'syncing')
    if (syncing !== undefined)
      return {
        difference: `${syncing.chain.name} is still being read; audit again once /readyz reports it live`,
      }
    const left = await leftChain(deps, status)
    if (left !== undefined) return { moved: left }
    const state = { connection: stored, dialect: deps.register.dialect }
    const difference =
      (await proveBalances(deps, state, status)) ??
      (await impossibleBurns(stored, deps.ecosystem.tokens))[0]?.detail ??
      (await missingBurns(stored, deps.ecosystem)) ??
      (await compareWithRebuilt(deps, stored, status))
    if (difference === undefined) return {}
    const moved = await leftChain(deps, status)
    return moved === undefined ? { difference } : { moved }
  })
}

/**
 * What the transfers of a token sent to the zero address and burn addresses is burned or undoes a mint. Fewer burns are
 * logs that a node left out of its answers: it may know one filter and not another. Undefined if nothing is missing.
 */
async function missingBurns(
  connection: Connection,
  ecosystem: Ecosystem,
): Promise<string | undefined> {
  const counted = [
    ...(await sumTotals(connection, BURNS)),
    ...(await sumTotals(connection, UNMINTED)),
  ]
  for (const { token, chain } of ecosystem.burns.filter((burn) => isEveryBurn(ecosystem, burn))) {
    if (token === null || !isTracked(token)) continue
    const { symbol, decimals } = token
    const { amount } = sumTotal(
      counted,
      (each) => each.token === symbol && each.chainId === chain.id,
    )
    const held = await connection.run(sql`
      select balance from balances where token = ${symbol} and chain_id = ${chain.id}
        and address ${inNames(ecosystem.burnAddresses)}`)
    const { burned } = await readTotalSupply(connection, symbol, chain.id)
    const sent = held.reduce((sum, row) => sum + column.bigint(row, 'balance'), burned)
    const show = (units: bigint) => formatDecimal(units, decimals)
    if (amount < sent)
      return `${symbol} on ${chain.name}: transfers took ${show(sent)} out of circulation, but ${show(amount)} are burned: a node left out logs; correct the endpoints, and build the register anew`
  }
  return undefined
}

/** Whether a mapping counts all burns of its token, and no bridge takes any out. */
function isEveryBurn({ burnAddresses, file }: Ecosystem, burn: EventSource): boolean {
  const { chain, token, where, whereNot, code } = burn
  const left = [...where.values(), ...whereNot.values()].map(({ size }) => size)
  const { bridges = [] } = file.tokens.find(({ symbol }) => symbol === token?.symbol) ?? {}
  const [receivers, senders] = [burnAddresses.length + 1, burnAddresses.length]
  return (
    isTransferOfToken(burn) &&
    code === undefined &&
    left.join() === `${receivers},${senders}` &&
    !bridges.some((each) => each.chain === chain.name)
  )
}

async function leftChain(deps: AuditDeps, status: IndexStatus): Promise<string | undefined> {
  for (const { chain, blockNumber, blockHash } of status.chains) {
    const header = await deps.sourceOf(chain).header(blockNumber)
    if (header?.hash !== blockHash) return chain.name
  }
  return undefined
}

async function compareWithRebuilt(
  deps: AuditDeps,
  stored: Connection,
  status: IndexStatus,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-audit-'))
  const engine = openSqlite({
    file: join(folder, 'register.sqlite'),
    durability: 'normal',
    bulk: true,
  })
  try {
    await engine.migrate(registerMigrations)
    const leader = new Leader({ engine, name: 'index' })
    await leader.take()
    const { ecosystem, clock, sourceOf } = deps
    const [datasets, prices] = [allDatasets(ecosystem), openPriceBook(ecosystem.tokens)]
    const onProgress = ({ chain, done, total }: RebuildProgress) =>
      deps.onProgress({ task: `reading ${chain}`, done, total })
    const building = { engine, clock, leader, datasets, prices, sourceOf, onProgress }
    await rebuildIndex(building, stored, status.chains)
    const difference = await engine.snapshot((recomputed) =>
      compareRegisters(
        { connection: stored, dialect: deps.register.dialect },
        { connection: recomputed, dialect: engine.dialect },
        ({ table, rows, isDone }) => {
          if (isDone) deps.note(`${table}: ${rows} rows equal a fresh index`)
          else deps.onProgress({ task: `comparing ${table}`, done: rows, total: rows })
        },
      ),
    )
    if (difference === undefined) return undefined
    const { table, key, column } = difference
    return `${table} ${key}: ${column} is ${difference.stored}, the chain gives ${difference.recomputed}`
  } finally {
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Calls per batch. */
const CALLS_AT_ONCE = 200

/**
 * Compares `totalSupply()` and each `balanceOf` at the indexed block; returns the first difference.
 */
async function proveBalances(
  deps: AuditDeps,
  stored: StoreState,
  status: IndexStatus,
): Promise<string | undefined> {
  for (const token of deps.ecosystem.tokens.filter(isTracked))
    for (const chain of status.chains) {
      const contract = token.addresses.get(chain.chain.name)
      if (contract === undefined) continue
      const place = { token, chain, contract }
      const difference =
        (await proveSupply(deps, stored.connection, place)) ??
        (await proveHolders(deps, stored, place))
      if (difference !== undefined) return difference
    }
  return undefined
}

interface Place {
  readonly token: PricedToken
  readonly chain: ChainStatus
  readonly contract: Address
}

async function proveSupply(
  deps: AuditDeps,
  stored: Connection,
  place: Place,
): Promise<string | undefined> {
  const { token, chain, contract } = place
  const supply = await readTotalSupply(stored, token.symbol, chain.chain.id)
  const total = sumTotalSupply(supply)
  const source = deps.sourceOf(chain.chain)
  const { blockNumber } = chain
  const onChain = await askSupply(source, contract, { stored: total, blockNumber })
  if (onChain !== total) return describe(place, { holder: ZERO_ADDRESS, onChain, stored: total })
  if (sumCirculating(supply) < 0n)
    return `${token.symbol} on ${chain.chain.name}: circulating supply is negative`
  return undefined
}

async function proveHolders(
  deps: AuditDeps,
  stored: StoreState,
  place: Place,
): Promise<string | undefined> {
  const { token, chain } = place
  const task = `asking for ${token.symbol} on ${chain.chain.name}`
  const balances = streamTable(stored, {
    table: 'balances',
    key: { token: 'text', address: 'text', chain_id: 'bigint' },
    where: sql`token = ${token.symbol} and chain_id = ${chain.chain.id}`,
  })
  let asking: Promise<Unequal | undefined>[] = []
  let count = 0
  const firstUnequal = async () => (await Promise.all(asking)).find((each) => each !== undefined)
  for await (const row of balances) {
    asking.push(proveHolder(deps, place, row))
    count += 1
    if (asking.length < CALLS_AT_ONCE) continue
    const found = await firstUnequal()
    if (found !== undefined) return describe(place, found)
    asking = []
    deps.onProgress({ task, done: count, total: count })
  }
  const found = await firstUnequal()
  if (found !== undefined) return describe(place, found)
  deps.note(
    `${token.symbol} on ${chain.chain.name}: totalSupply and ${count} balances equal the contract's`,
  )
  return undefined
}

async function proveHolder(
  deps: AuditDeps,
  { chain, contract }: Place,
  row: Row,
): Promise<Unequal | undefined> {
  const holder = column.hex(row, 'address')
  const stored = column.bigint(row, 'balance')
  const source = deps.sourceOf(chain.chain)
  const onChain = await askContract(source, contract, holder, chain.blockNumber)
  return onChain === stored ? undefined : { holder, onChain, stored }
}

/** The zero address stands for the total supply. */
interface Unequal {
  readonly holder: Address
  readonly onChain: bigint
  readonly stored: bigint
}

function describe({ token, chain }: Place, { holder, onChain, stored }: Unequal): string {
  const what = holder === ZERO_ADDRESS ? 'totalSupply()' : `balanceOf(${showAddress(holder)})`
  return `${token.symbol} on ${chain.chain.name}: ${what} is ${onChain} at block ${chain.blockNumber}, the register has ${stored}: a node lacks old transfers, startBlock is too late, or the token moves balances without Transfer events`
}
