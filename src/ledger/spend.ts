import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type SqlValue, sql } from '#store/sql.ts'

export interface SpendInput {
  /** Calls wanted by prepaid account; every account has been posted to before. */
  readonly calls: ReadonlyMap<string, number>
  readonly pricePerCall: MicroUsd
  /** Unix seconds of the UTC day. */
  readonly day: number
}

/**
 * Takes the price of as many of the wanted calls as each balance holds, and gives how many that are. One
 * statement decides and takes, so that no number of replicas can spend the same money twice. Calls become
 * no journal entry each: the day's spend is raised here and posted when the day is closed.
 */
export async function spendCalls(
  connection: Connection,
  input: SpendInput,
): Promise<Map<string, number>> {
  if (input.calls.size === 0) return new Map()
  const wanted = inOrder(input.calls)
  const taken = await connection.insert(takingsAt(input.pricePerCall).asHeld, toRows(wanted))
  const spent = new Map(taken.map((row) => [column.text(row, 'account'), grantedOf(row)]))
  const paying = wanted.flatMap(([account]): [string, number][] => {
    const calls = spent.get(account) ?? 0
    return calls > 0 ? [[account, calls]] : []
  })
  if (paying.length > 0) await raiseSpend(connection, input, paying)
  return spent
}

/**
 * Takes the price of all calls from accounts that have paid before: half as dear, since nothing is told of
 * each. ConstraintError when a balance does not hold its calls; nothing of the transaction may then stand.
 */
export async function payCalls(connection: Connection, input: SpendInput): Promise<void> {
  const wanted = inOrder(input.calls)
  const paying = connection.insert(takingsAt(input.pricePerCall).all, toRows(wanted))
  const raising = raiseSpend(connection, input, wanted)
  // Both are sent at once; what the store refuses is told by the first, the second fails after it.
  raising.catch(() => undefined)
  await paying
  await raising
}

/** Rows stand in the order of the names, so that two batches never wait for one another. */
function inOrder(calls: ReadonlyMap<string, number>): [string, number][] {
  return [...calls].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Calls are wanted in negative numbers, so that a row that was not there grants none. */
function toRows(wanted: readonly (readonly [string, number])[]): SqlValue[][] {
  return wanted.map(([account, calls]) => [account, 1, 0, -calls])
}

function grantedOf(row: Row): number {
  return Math.max(0, column.integer(row, 'granted_calls'))
}

interface Takings {
  /** Of each balance the price of as many calls as it holds; tells how many. */
  readonly asHeld: BulkInsert
  /** Of each balance the price of all calls; the table refuses one below zero. */
  readonly all: BulkInsert
}

const takings = new Map<MicroUsd, Takings>()

/** Prices are settings: a process knows one. */
function takingsAt(price: MicroUsd): Takings {
  const known = takings.get(price)
  if (known !== undefined) return known
  const granted = `case when balances.micro_usd >= -excluded.granted_calls * ${price}
    then -excluded.granted_calls else balances.micro_usd / ${price} end`
  const made = {
    asHeld: {
      ...TAKING,
      conflict: `on conflict (account) do update set
        granted_calls = ${granted}, micro_usd = balances.micro_usd - ${price} * (${granted})
        returning account, granted_calls`,
    },
    all: {
      ...TAKING,
      conflict: `on conflict (account) do update set
        micro_usd = balances.micro_usd + ${price} * excluded.granted_calls`,
    },
  }
  takings.set(price, made)
  return made
}

const TAKING: BulkInsert = {
  table: 'balances',
  columns: { account: 'text', prepaid: 'bigint', micro_usd: 'bigint', granted_calls: 'bigint' },
}

/** The accounts stand in the order of their names. */
async function raiseSpend(
  connection: Connection,
  { day, pricePerCall }: Pick<SpendInput, 'day' | 'pricePerCall'>,
  paying: readonly (readonly [string, number])[],
): Promise<void> {
  await connection.insert(
    RAISED,
    paying.map(([account, calls]) => {
      const amount = BigInt(calls) * pricePerCall
      return [account, day, pricePerCall, calls, amount]
    }),
  )
}

const RAISED: BulkInsert = {
  table: 'spend_days',
  columns: {
    account: 'text',
    day: 'bigint',
    price_micro_usd: 'bigint',
    calls: 'bigint',
    micro_usd: 'bigint',
  },
  conflict: `on conflict (account, day, price_micro_usd) do update set
    calls = spend_days.calls + excluded.calls,
    micro_usd = spend_days.micro_usd + excluded.micro_usd`,
}

/** Gives paid calls of one account and day back; a closed day is corrected when it is closed again. */
export async function giveBackCalls(
  connection: Connection,
  input: {
    readonly account: string
    readonly day: number
    readonly calls: number
    readonly pricePerCall: MicroUsd
  },
): Promise<void> {
  const amount = BigInt(input.calls) * input.pricePerCall
  const raised = await connection.run(sql`
    update balances set micro_usd = micro_usd + ${amount}
    where account = ${input.account} returning account`)
  const lowered = await connection.run(sql`
    update spend_days set returned = returned + ${input.calls}, micro_usd = micro_usd - ${amount}
    where account = ${input.account} and day = ${input.day}
      and price_micro_usd = ${input.pricePerCall} returning account`)
  assert(raised.length === 1 && lowered.length === 1, 'a refund of calls that were never paid')
}
