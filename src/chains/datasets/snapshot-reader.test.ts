import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from '#store/sql.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { pointOf, refuseMixed } from './data-route.ts'
import { registerMigrations } from './datasets.ts'
import { statementwise } from './snapshot-reader.ts'

test('other work goes on between the statements of a long read', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const reads = statementwise(engine)
    let turns = 0
    let isDone = false
    const others = (async () => {
      for (; !isDone; turns += 1) await setImmediate()
    })()
    for (let statement = 0; statement < 20; statement += 1) await reads.run(sql`select 1`)
    isDone = true
    await others
    assert.ok(turns >= 20, `${turns} turns`)
    await assert.rejects(reads.insert({ table: 'events', columns: {} }, []), /does not write/)
  }))

test('the newest figures are asked for unless a point is named, and one point only', () => {
  assert.equal(pointOf({}), 'latest')
  assert.equal(pointOf({ finality: 'finalized' }), 'finalized')
  assert.deepEqual(pointOf({ asOfUnix: 0, finality: 'latest' }), { kind: 'moment', unix: 0 })
  assert.equal(refuseMixed({ asOfUnix: 0, asOfBlock: [] })?.code, 'invalid_parameter')
})
