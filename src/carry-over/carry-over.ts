import { storeChecks } from '#audit/audit-accounts.ts'
import type { Difference } from '#ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import { type Connection, type Engine, StoreError } from '#store/engine.ts'
import { heldLeases } from '#store/lease.ts'
import { join, type Sql, type SqlValue, sql } from '#store/sql.ts'
import { type BuiltColumn, buildSchema } from '#store/sqlite/built-schema.ts'
import { type StoreState, streamTable } from '#store/stream-table.ts'
import { isOfRelease, OF_RELEASE } from './release.ts'

export class CarryOverError extends Error {
  override readonly name = 'CarryOverError'
}

/** In foreign-key order. Leases are left out: their processes have ended. */
export const CARRIED = [
  'wallets',
  'keys',
  'used_messages',
  'usage_days',
  'key_days',
  'refunds',
  'meters',
  'claims',
  'claim_proofs',
  'credits',
  'x402_intents',
  'x402_replaced',
  'x402_settlers',
  'x402_sign_ins',
  'x402_collected',
  'balances',
  'postings',
  'journal_entries',
  'spend_days',
] as const

const ROWS_AT_ONCE = 5_000

interface CarryOverInput {
  readonly source: Engine
  readonly target: Engine
  readonly nowMs: number
}

/**
 * Copies 0.1.0 accounts into an empty store in one transaction, audited before it commits. Returns
 * rows by table; throws CarryOverError and stores nothing on any failure.
 */
export async function carryOver(input: CarryOverInput): Promise<ReadonlyMap<string, number>> {
  const { source, target } = input
  await refuseOtherRelease(source)
  try {
    return await source.snapshot(async (reads) => {
      await refuseRunning(reads, input)
      return target.writeWithoutTimeout(async (connection) => {
        await refuseRows(connection)
        const counts = await copyAll({ connection: reads, dialect: source.dialect }, connection)
        await refuseDifferences(connection, target.dialect)
        return counts
      })
    })
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    const words = 'the source or the target failed; check both and run this again'
    throw new CarryOverError(`${words} (${cause.message})`, { cause })
  }
}

async function refuseOtherRelease(source: Engine): Promise<void> {
  const advice = 'name the data folder or URL that 0.1.0 used'
  const isRight = await source.snapshot(isOfRelease).catch((cause) => {
    if (!(cause instanceof StoreError)) throw cause
    const words = `the source cannot be read as accounts of Sexton 0.1.0; ${advice}`
    throw new CarryOverError(`${words} (${cause.message})`, { cause })
  })
  if (!isRight) throw new CarryOverError(`the source is not of Sexton 0.1.0; ${advice}`)
}

async function refuseRunning(
  reads: Connection,
  { source: { dialect }, nowMs }: CarryOverInput,
): Promise<void> {
  const [lease] = await heldLeases(reads, { dialect, nowMs })
  if (lease !== undefined)
    throw new CarryOverError(
      `0.1.0 still runs on the source: its ${lease} holds a lease; stop it, and wait 10 s if it was killed`,
    )
}

async function refuseRows(target: Connection): Promise<void> {
  for (const table of CARRIED) {
    const found = await target.run(sql`select 1 from ${plain(table)} limit 1`)
    if (found.length > 0)
      throw new CarryOverError(`the target has rows in "${table}": name an empty store`)
  }
}

async function copyAll(
  source: StoreState,
  target: Connection,
): Promise<ReadonlyMap<string, number>> {
  const { columns } = buildSchema(accountsMigrations)
  const counts = new Map<string, number>()
  for (const table of CARRIED)
    counts.set(table, await copyTable(source, target, { table, columns: columns.get(table) ?? [] }))
  return counts
}

async function copyTable(
  source: StoreState,
  target: Connection,
  { table, columns }: { readonly table: string; readonly columns: readonly BuiltColumn[] },
): Promise<number> {
  const into = { table, columns: typesOf(columns) }
  const names = columns.map(({ name }) => plain(name))
  const rows = OF_RELEASE.get(table) ?? sql`select ${join(names)} from ${plain(table)}`
  let held: SqlValue[][] = []
  let count = 0
  for await (const row of streamTable(source, {
    table: `(${rows.parts.join('')}) as carried`,
    key: typesOf(columns.filter(({ isKey }) => isKey)),
  })) {
    held.push(columns.map(({ name }) => toValue(row[name])))
    count += 1
    if (held.length < ROWS_AT_ONCE) continue
    await target.insert(into, held)
    held = []
  }
  if (held.length > 0) await target.insert(into, held)
  return count
}

function typesOf(columns: readonly BuiltColumn[]) {
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]))
}

function toValue(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  throw new TypeError(`a column holds a text, a number or null, not ${String(value)}`)
}

async function refuseDifferences(target: Connection, dialect: Engine['dialect']): Promise<void> {
  const lines: string[] = []
  for (const check of storeChecks(dialect))
    for (const each of await check.run(target)) lines.push(inWords(check.name, each))
  if (lines.length > 0)
    throw new CarryOverError(`the accounts of 0.1.0 fail their audit: ${lines.join('; ')}`)
}

function inWords(name: string, { subject, detail }: Difference): string {
  return `${name}: ${subject}: ${detail}`
}

function plain(text: string): Sql {
  return { kind: 'sql', parts: [text], values: [] }
}
