import { accessGuards } from '#access/access-migrations.ts'
import { type Check, DIFFERENCES_MAX } from '#ledger/check.ts'
import { ledgerGuards, upkeepGuards } from '#ledger/ledger-guards.ts'
import { paymentsGuards } from '#payments/payments-guards.ts'
import type { Engine } from '#store/engine.ts'
import type { Guard } from '#store/guard.ts'
import { missingGuards } from '#store/missing-guards.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { x402Guards } from '#x402/x402-guards.ts'

export const accountsGuards: readonly Guard[] = [
  ...ledgerGuards,
  ...accessGuards,
  ...paymentsGuards,
  ...x402Guards,
  ...upkeepGuards,
]

export function guardChecks(dialect: Engine['dialect']): readonly Check[] {
  return [
    {
      name: 'the database guards every row that must not change',
      async run(connection) {
        const missing = await missingGuards({ connection, dialect }, accountsGuards)
        return missing
          .map((subject) => ({ subject, detail: 'trigger disabled, changed or missing' }))
          .slice(0, DIFFERENCES_MAX)
      },
    },
    ...(dialect === 'postgres' ? [GUARDS_ARE_ON] : []),
  ]
}

/** A session with `replica` skips every trigger. */
const GUARDS_ARE_ON: Check = {
  name: 'no database or role setting disables the guards',
  async run(connection) {
    const found = await connection.run(sql`
      select coalesce(rolname, 'every role') || ' in '
          || coalesce(datname, 'every database') as subject
      from pg_db_role_setting
        left join pg_roles on pg_roles.oid = setrole
        left join pg_database on pg_database.oid = setdatabase
      where 'session_replication_role=replica' = any (setconfig)
        and (setdatabase = 0 or datname = current_database())
      union all
      select 'this session' where current_setting('session_replication_role') = 'replica'`)
    return found.map((row) => ({
      subject: column.text(row, 'subject'),
      detail: 'sets session_replication_role = replica, which disables triggers',
    }))
  },
}
