import type { MicroUsd } from '#base/money.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column } from '#db/sql.ts'

interface SpendInput {
  /** Calls by account. Each account must have been posted to before. */
  readonly calls: ReadonlyMap<string, number>
  readonly pricePerCall: MicroUsd
  /** Unix seconds. */
  readonly day: number
}

interface Spent {
  readonly calls: number
  readonly balance: MicroUsd
}

/**
 * Debits what each balance covers in one statement, so that replicas cannot double-spend. Calls have no journal
 * entries; their daily sums are kept for ever.
 */
export async function spendCalls(
  connection: Connection,
  { calls, pricePerCall, day }: SpendInput,
): Promise<Map<string, Spent>> {
  const wanted = [...calls].sort(([a], [b]) => (a < b ? -1 : 1))
  const debited = await connection.insert(
    debitAt(pricePerCall),
    // Negative, so that an account without a row is granted nothing.
    wanted.map(([account, count]) => [account, -count]),
  )
  const spent = new Map(
    debited.map((row): [string, Spent] => [
      column.text(row, 'account'),
      {
        calls: Math.max(0, column.integer(row, 'granted_calls')),
        balance: column.amount(row, 'micro_usd'),
      },
    ]),
  )
  const days = wanted.flatMap(([account]) => {
    const paid = spent.get(account)?.calls ?? 0
    return paid === 0 ? [] : [[day, account, pricePerCall, paid, BigInt(paid) * pricePerCall]]
  })
  if (days.length > 0) await connection.insert(SPENT, days)
  return spent
}

const debits = new Map<MicroUsd, BulkInsert>()

function debitAt(price: MicroUsd): BulkInsert {
  const granted = `case when balances.micro_usd >= -excluded.granted_calls * ${price}
    then -excluded.granted_calls else balances.micro_usd / ${price} end`
  const made = debits.get(price) ?? {
    table: 'balances',
    columns: { account: 'text', granted_calls: 'bigint' },
    constants: { micro_usd: 0 },
    conflict: `on conflict (account) do update set granted_calls = ${granted},
      micro_usd = balances.micro_usd - ${price} * (${granted})
      returning account, granted_calls, micro_usd`,
  }
  debits.set(price, made)
  return made
}

const SPENT: BulkInsert = {
  table: 'spend_days',
  columns: {
    day: 'bigint',
    account: 'text',
    price_micro_usd: 'bigint',
    calls: 'bigint',
    micro_usd: 'bigint',
  },
  conflict: `on conflict (day, account, price_micro_usd) do update set
    calls = spend_days.calls + excluded.calls, micro_usd = spend_days.micro_usd + excluded.micro_usd`,
}
