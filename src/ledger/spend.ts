import type { MicroUsd } from '#domain/money.ts'
import { assert } from '#lib/assert.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type SqlValue, sql } from '#store/sql.ts'
import { ACCRUES_NOTHING } from './accrual.ts'

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
 * no journal entry each: they accrue beside the balance and are posted when their day is closed.
 */
export async function spendCalls(
  connection: Connection,
  input: SpendInput,
): Promise<Map<string, number>> {
  if (input.calls.size === 0) return new Map()
  const taken = await connection.insert(takingsAt(input.pricePerCall).asHeld, toRows(input))
  return new Map(taken.map((row) => [column.text(row, 'account'), grantedOf(row)]))
}

/**
 * Takes the price of all calls from accounts that have paid before: half as dear, since nothing is told of
 * each. ConstraintError when a balance does not hold its calls; nothing of the transaction may then stand.
 */
export async function payCalls(connection: Connection, input: SpendInput): Promise<void> {
  await connection.insert(takingsAt(input.pricePerCall).all, toRows(input))
}

/**
 * Rows stand in the order of the names, so that two batches never wait for one another. Calls are wanted in
 * negative numbers, so that a row that was not there grants none.
 */
function toRows({ calls, day }: SpendInput): SqlValue[][] {
  return [...calls]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([account, wanted]) => [account, -wanted, day])
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
      conflict: `on conflict (account) do update set granted_calls = ${granted},
        ${taking(granted, price)} returning account, granted_calls`,
    },
    all: {
      ...TAKING,
      conflict: `on conflict (account) do update set ${taking('-excluded.granted_calls', price)}`,
    },
  }
  takings.set(price, made)
  return made
}

/** The price leaves the balance, and the calls accrue beside those of the same day and price. */
function taking(calls: string, price: MicroUsd): string {
  return `micro_usd = balances.micro_usd - ${price} * (${calls}),
    accruing_calls = (${calls}) + case
      when balances.accruing_day = excluded.accruing_day
        and balances.accruing_price_micro_usd = ${price}
      then balances.accruing_calls else 0 end,
    accruing_day = excluded.accruing_day, accruing_price_micro_usd = ${price}`
}

const TAKING: BulkInsert = {
  table: 'balances',
  columns: { account: 'text', granted_calls: 'bigint', accruing_day: 'bigint' },
  constants: { prepaid: 1, micro_usd: 0 },
}

/**
 * Gives paid calls of one account and day back; a closed day is corrected when it is closed again. What
 * accrues beside the balance comes to its day first, so that the calls are there to be given back.
 */
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
    update balances set micro_usd = micro_usd + ${amount}, ${ACCRUES_NOTHING}
    where account = ${input.account} returning account`)
  const lowered = await connection.run(sql`
    update spend_days set returned = returned + ${input.calls}, micro_usd = micro_usd - ${amount}
    where account = ${input.account} and day = ${input.day}
      and price_micro_usd = ${input.pricePerCall} returning account`)
  assert(raised.length === 1 && lowered.length === 1, 'a refund of calls that were never paid')
}
