import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountsMigrations } from '#main/stores.ts'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import { ACCOUNT_TABLES } from './copied-stores.ts'

test('every table of the accounts is backed up, restored and moved, but for who leads and what has run', () => {
  const tables = [...buildSchema(accountsMigrations).columns.keys()]
  assert.deepEqual(
    tables.filter((table) => !['leases', 'job_runs'].includes(table)).sort(),
    [...ACCOUNT_TABLES].sort(),
  )
})
