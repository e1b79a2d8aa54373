import assert from 'node:assert/strict'
import { test } from 'node:test'
import { column, join, type Row, sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { moneyChecks } from '#payments/money-checks.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { rowChecks } from './audit-accounts.ts'

const checks = [...rowChecks, ...moneyChecks(testContext(), () => undefined)]

/** Tables of a plan that are read whole for each row of another. */
function nestedScans(plan: readonly Row[]): string[] {
  const loops = Map.groupBy(plan, (row) => row.parent)
  return [...loops.values()].flatMap((rows) =>
    rows
      .map((row) => column.text(row, 'detail'))
      .filter((detail) => /^(SCAN|SEARCH) (?!.*VIRTUAL TABLE)/.test(detail))
      .slice(1)
      .filter((detail) => detail.startsWith('SCAN')),
  )
}

test('SQLite: an audit reads no table whole for each row of another', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    let statements = 0
    for (const check of checks)
      await engine.snapshot((connection) =>
        check.run({
          ...connection,
          async run(statement) {
            statements += 1
            const plan = await connection.run(join([sql`explain query plan`, statement], ' '))
            assert.deepEqual(nestedScans(plan), [], check.name)
            return connection.run(statement)
          },
        }),
      )
    assert.ok(statements >= checks.length)
  }))
