import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConstraintError, type Engine, type Migration } from '#db/engine.ts'
import { column, join, rows, sql, toStored } from '#db/sql.ts'

const MIGRATIONS: readonly Migration[] = [
  {
    id: 1,
    name: 'counters',
    sql: 'create table counters (id text primary key, used bigint not null check (used >= 0))',
  },
  {
    id: 2,
    name: 'amounts',
    sql: 'create table amounts (id text primary key, value text not null)',
  },
]

type Opened = (guarantee: string, work: (engine: Engine) => Promise<void>) => void

export function describeEngine(name: string, open: () => Promise<Engine>): void {
  const opened: Opened = (guarantee, work) =>
    test(`${name}: ${guarantee}`, async () => {
      const engine = await open()
      try {
        await engine.migrate(MIGRATIONS)
        await work(engine)
      } finally {
        await engine.close()
      }
    })

  opened('migrations run once and in order', async (engine) => {
    await engine.migrate(MIGRATIONS)
    const applied = await engine.read(sql`select id from migrations order by id`)
    assert.deepEqual(
      applied.map((row) => column.integer(row, 'id')),
      [1, 2],
    )
  })

  opened('a database of a newer version is refused', async (engine) => {
    await assert.rejects(engine.migrate(MIGRATIONS.slice(0, 1)), /does not know/)
  })

  opened('values come back as they were given', async (engine) => {
    await engine.write((tx) =>
      tx.run(
        sql`insert into amounts (id, value) values ${rows([
          ['a', toStored(2n ** 256n - 1n)],
          ["o'hara ✝", 'x'],
        ])}`,
      ),
    )
    const [first] = await engine.read(
      sql`select id, value from amounts where id in (${join(['a', 'b'])})`,
    )
    assert.equal(first && column.bigint(first, 'value'), 2n ** 256n - 1n)
    await engine.write((tx) =>
      tx.run(sql`insert into counters (id, used) values ('c', ${2n ** 53n - 1n})`),
    )
    const [counter] = await engine.read(sql`select used from counters`)
    assert.equal(counter && column.integer(counter, 'used'), 2 ** 53 - 1)
  })

  describeBulk(opened)
  describeIntegers(opened)
  describeCalls(opened)
  describeWrites(opened)
}

function describeBulk(opened: Opened): void {
  opened('rows inserted in bulk are the rows that were given', async (engine) => {
    const given = Array.from({ length: 12_345 }, (_, index) => [`"a\\${index},{}`, index] as const)
    const into = { table: 'counters', columns: { id: 'text', used: 'bigint' } } as const
    await engine.write((tx) => tx.insert(into, given))
    const more = { ...into, conflict: 'on conflict (id) do update set used = excluded.used' }
    await engine.write((tx) => tx.insert(more, [[given[0]?.[0] ?? '', 77]]))
    const raised = `${more.conflict} returning id, used`
    const told = await engine.write((tx) =>
      tx.insert({ ...into, conflict: raised }, given.slice(1, 78)),
    )
    assert.deepEqual(
      told.map((row) => [row.id, row.used]),
      given.slice(1, 78),
    )
    const found = await engine.read(sql`select id, used from counters`)
    const stored = new Map(found.map((row) => [row.id, row.used]))
    assert.deepEqual(stored, new Map([...given, [given[0]?.[0] ?? '', 77]]))
  })
}

/** Wider than a uint256, as sums of them are; below zero, as overdrawn balances are. */
const WIDE: readonly bigint[] = [
  -(2n ** 300n),
  -(2n ** 256n),
  -10n,
  -9n,
  -1n,
  0n,
  1n,
  9n,
  10n,
].concat([2n ** 256n - 1n, 2n ** 256n, 10n ** 116n])

function describeIntegers(opened: Opened): void {
  opened('integers of any size and sign order as numbers do', async (engine) => {
    const mixed = WIDE.toSorted((a, b) => (a.toString() < b.toString() ? 1 : -1))
    const single = mixed.map((value, index) => [`${index}`, toStored(value)])
    await engine.write((tx) => tx.run(sql`insert into amounts (id, value) values ${rows(single)}`))
    const ordered = await engine.read(sql`select value from amounts order by value`)
    assert.deepEqual(
      ordered.map((row) => column.bigint(row, 'value')),
      WIDE,
    )
    const below = await engine.read(sql`select id from amounts where value < ${toStored(0n)}`)
    assert.equal(below.length, WIDE.filter((value) => value < 0n).length)
  })
}

function describeCalls(_opened: Opened): void {}

function describeWrites(opened: Opened): void {
  opened('a write that throws leaves nothing behind', async (engine) => {
    const failing = engine.write(async (tx) => {
      await tx.run(sql`insert into counters (id, used) values ('a', 1)`)
      throw new RangeError('stop')
    })
    await assert.rejects(failing, RangeError)
    assert.deepEqual(await engine.read(sql`select id from counters`), [])
  })

  opened('a broken constraint is told apart from a failed database', async (engine) => {
    await assert.rejects(
      engine.write((tx) => tx.run(sql`insert into counters (id, used) values ('a', -1)`)),
      ConstraintError,
    )
    await assert.rejects(
      engine.read(sql`select nothing from nowhere`),
      (error) => !(error instanceof ConstraintError),
    )
  })

  opened('fifty writers at once never pass a limit of twenty', async (engine) => {
    await engine.write((tx) => tx.run(sql`insert into counters (id, used) values ('a', 0)`))
    const admitted = await Promise.all(
      Array.from({ length: 50 }, () =>
        engine.write((tx) =>
          tx.run(
            sql`update counters set used = used + 1 where id = 'a' and used < 20 returning used`,
          ),
        ),
      ),
    )
    assert.equal(admitted.filter((each) => each.length === 1).length, 20)
  })

  opened('a snapshot sees one state while a write goes on', async (engine) => {
    await engine.write((tx) => tx.run(sql`insert into counters (id, used) values ('a', 1)`))
    const seen = await engine.snapshot(async (reads) => {
      const before = await reads.run(sql`select used from counters where id = 'a'`)
      await engine.write((tx) => tx.run(sql`update counters set used = 2 where id = 'a'`))
      const after = await reads.run(sql`select used from counters where id = 'a'`)
      return [before[0]?.used, after[0]?.used]
    })
    assert.deepEqual(seen, [1, 1])
    assert.equal((await engine.read(sql`select used from counters`))[0]?.used, 2)
  })
}
