import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface SpendInput {
  /** Calls wanted by prepaid account; every account has been posted to before. */
  readonly calls: ReadonlyMap<string, number>
  readonly pricePerCall: MicroUsd
  /** Unix seconds of the UTC day. */
  readonly day: number
}

/** What an account paid for, and what is left. */
export interface Spent {
  readonly calls: number
  readonly balance: MicroUsd
}

/**
 * Takes the price of as many of the wanted calls as each balance holds. One statement decides and
 * takes, so that no number of replicas can spend the same money twice. Calls become no journal
 * entry each: the day's spend is raised here and posted when the day is closed.
 */
export async function spendCalls(
  connection: Connection,
  input: SpendInput,
): Promise<Map<string, Spent>> {
  const spent = await takeFromBalances(connection, input)
  const paying = [...spent].filter(([, each]) => each.calls > 0)
  if (paying.length > 0) await raiseSpend(connection, input, paying)
  return spent
}

/** Rows stand in the order of the names, so that two batches never wait for one another. */
async function takeFromBalances(
  connection: Connection,
  { calls, pricePerCall }: SpendInput,
): Promise<Map<string, Spent>> {
  if (calls.size === 0) return new Map()
  const wanted = [...calls].sort(([a], [b]) => (a < b ? -1 : 1))
  const taken = await connection.insert(
    takingAt(pricePerCall),
    wanted.map(([account, count]) => [account, 1, 0, -count]),
  )
  return new Map(taken.map((row) => [column.text(row, 'account'), toSpent(row)]))
}

/** Calls are wanted in negative numbers, so that a row that was not there grants none. */
function toSpent(row: Row): Spent {
  return {
    calls: Math.max(0, column.integer(row, 'granted_calls')),
    balance: column.amount(row, 'micro_usd'),
  }
}

const takings = new Map<MicroUsd, BulkInsert>()

/** Prices are settings: a process knows one. */
function takingAt(price: MicroUsd): BulkInsert {
  const known = takings.get(price)
  if (known !== undefined) return known
  const granted = `case when balances.micro_usd >= -excluded.granted_calls * ${price}
    then -excluded.granted_calls else balances.micro_usd / ${price} end`
  const taking: BulkInsert = {
    table: 'balances',
    columns: { account: 'text', prepaid: 'bigint', micro_usd: 'bigint', granted_calls: 'bigint' },
    conflict: `on conflict (account) do update set
      granted_calls = ${granted}, micro_usd = balances.micro_usd - ${price} * (${granted})
      returning account, granted_calls, micro_usd`,
  }
  takings.set(price, taking)
  return taking
}

async function raiseSpend(
  connection: Connection,
  { day, pricePerCall }: SpendInput,
  paying: readonly (readonly [string, Spent])[],
): Promise<void> {
  const sorted = [...paying].sort(([a], [b]) => (a < b ? -1 : 1))
  await connection.insert(
    RAISED,
    sorted.map(([account, { calls }]) => {
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
