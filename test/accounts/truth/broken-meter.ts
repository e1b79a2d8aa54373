import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite'

/**
 * Preloaded into an API process on SQLite (`node --import`): breaks the meter below its own code, as
 * `METER_FAULT` says, so that a checker can show that it notices.
 */
const EVERY = 200
const PRICE_MICRO_USD = 100

const fault = process.env.METER_FAULT
const { prepare } = DatabaseSync.prototype
let taken = 0

DatabaseSync.prototype.prepare = function (text) {
  const statement = prepare.call(this, text)
  const takesUnits = /insert into usage_days[\s\S]*returning/.test(text)
  const takesMoney = /insert into balances[\s\S]*granted_calls/.test(text)
  if (fault === 'forgets-units' && takesUnits) after(statement, (rows) => forgetUnit(this, rows))
  if (fault === 'admits-too-many' && takesUnits) after(statement, admitOneMore)
  if (fault === 'forgets-debits' && takesMoney)
    after(statement, (_rows, values) => forgetDebit(this, values))
  return statement
}

type Rows = Record<string, SQLOutputValue>[]

/** The store reads rows as lists; the faults are told in names. */
function after(
  statement: StatementSync,
  change: (rows: Rows, values: readonly SQLInputValue[]) => void,
): void {
  const all = statement.all.bind(statement)
  const names = statement.columns().map(({ name }) => name)
  Reflect.set(statement, 'all', (...values: SQLInputValue[]) => {
    const lists: unknown = all(...values)
    const rows = (lists as SQLOutputValue[][]).map((list) =>
      Object.fromEntries(names.map((name, index) => [name, list[index] ?? null])),
    )
    change(rows, values)
    return rows.map((row) => names.map((name) => row[name]))
  })
}

/** Whether it is time for another fault with these. */
function isTurn(more: number): boolean {
  const before = Math.floor(taken / EVERY)
  taken += more
  return Math.floor(taken / EVERY) > before
}

function forgetUnit(database: DatabaseSync, rows: Rows): void {
  for (const { bucket, used, granted } of rows)
    if (isTurn(Number(granted)))
      prepare
        .call(
          database,
          'update usage_days set used = used - 1, returned = returned + 1 where bucket = ? and used = ?',
        )
        .run(bucket ?? null, used ?? null)
}

/** Six values for each bucket: the second is its name, the fifth its quota. Buckets without a unit left have no row. */
function admitOneMore(rows: Rows, values: readonly SQLInputValue[]): void {
  const granted = new Set(rows.map(({ bucket }) => bucket))
  for (let at = 0; at < values.length; at += 6) {
    const [bucket, used] = [String(values[at + 1]), Number(values[at + 4])]
    if (!granted.has(bucket) && isTurn(EVERY)) rows.push({ bucket, used, paid: 0, granted: 1 })
  }
}

/** Two values for each account: its name and minus the calls. */
function forgetDebit(database: DatabaseSync, values: readonly SQLInputValue[]): void {
  const change = 'update balances set micro_usd = micro_usd + ? where account = ?'
  for (let at = 0; at < values.length; at += 2)
    if (Number(values[at + 1]) < 0 && isTurn(EVERY / 2))
      prepare.call(database, change).run(PRICE_MICRO_USD, values[at] ?? null)
}
