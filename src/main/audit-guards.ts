import { accessGuards, returnGuards } from '#access/access-migrations.ts'
import { type Check, DIFFERENCES_MAX } from '#ledger/check.ts'
import { ledgerGuards, priceGuards } from '#ledger/ledger-guards.ts'
import { paymentsGuards } from '#payments/payments-guards.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { type Guard, missingGuards } from '#store/guard.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { collectedGuards, replacedGuards, x402Guards } from '#x402/x402-guards.ts'

/** Everything that the accounts store refuses by itself. */
export const accountsGuards: readonly Guard[] = [
  ...ledgerGuards,
  ...priceGuards,
  ...accessGuards,
  ...returnGuards,
  ...paymentsGuards,
  ...x402Guards,
  ...collectedGuards,
  ...replacedGuards,
]

/** What check constraints must say, without spaces and brackets. */
const CONSTRAINTS: readonly { readonly table: string; readonly text: string }[] = [
  { table: 'balances', text: 'prepaid=0ormicro_usd>=0' },
  { table: 'spend_days', text: 'price_micro_usd=0ormicro_usd=calls-returned*price_micro_usd' },
  { table: 'usage_days', text: 'used<=quota_most' },
]

/** The accounts store still refuses what it was told to refuse. */
export function guardChecks(dialect: Engine['dialect']): readonly Check[] {
  return [
    {
      name: 'the database guards every row that must not change',
      async run(connection) {
        const missing = await missingGuards({ connection, dialect }, accountsGuards)
        return missing
          .map((subject) => ({ subject, detail: 'is switched off, changed or gone' }))
          .slice(0, DIFFERENCES_MAX)
      },
    },
    {
      name: 'the database refuses balances below zero, calls without their price and calls over a quota',
      async run(connection) {
        const texts = await (dialect === 'sqlite' ? onSqlite : onPostgres)(connection)
        return CONSTRAINTS.filter(
          ({ table, text }) =>
            !texts.some((each) => each.table === table && each.text.includes(text)),
        ).map(({ table, text }) => ({ subject: table, detail: `nothing enforces ${text}` }))
      },
    },
  ]
}

interface Constraint {
  readonly table: string
  readonly text: string
}

async function onSqlite(connection: Connection): Promise<readonly Constraint[]> {
  const found = await connection.run(sql`
    select name, sql as text from sqlite_master where type = 'table' and sql is not null`)
  return found.map((row) => ({
    table: column.text(row, 'name'),
    text: bare(column.text(row, 'text')),
  }))
}

async function onPostgres(connection: Connection): Promise<readonly Constraint[]> {
  const found = await connection.run(sql`
    select relname as name, pg_get_constraintdef(pg_constraint.oid) as text
    from pg_constraint join pg_class on pg_class.oid = pg_constraint.conrelid
    where contype = 'c' and convalidated
      and pg_class.relnamespace = cast(current_schema() as regnamespace)`)
  return found.map((row) => ({
    table: column.text(row, 'name'),
    text: bare(column.text(row, 'text')),
  }))
}

function bare(text: string): string {
  return text.toLowerCase().replace(/[\s()]/g, '')
}
