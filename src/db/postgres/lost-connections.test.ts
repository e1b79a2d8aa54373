import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { allEnded } from '#base/async.ts'
import { startPostgres } from '#test/postgres.ts'
import { openWay } from '#test/way-to-server.ts'
import { type Engine, type Migration, StoreError } from '../engine.ts'
import { type Sql, sql } from '../sql.ts'
import { openPostgres } from './open-postgres.ts'

const server = await startPostgres({ own: true })
after(() => server.stop())

const CONNECTIONS = 4
const MIGRATIONS: readonly Migration[] = [
  {
    id: 1,
    name: 'marks',
    sql: 'create table marks (work text, part bigint, primary key (work, part))',
  },
]

/** Backends ended while work is under way. */
const KILLS = 30

interface Setting {
  readonly url: string
  readonly engine: Engine
  /** Ends backends of the engine: all, or each with a chance. */
  kill(chance?: number): Promise<number>
}

function lossTest(guarantee: string, work: (setting: Setting) => Promise<void>): void {
  test(guarantee, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts', connectionsMax: CONNECTIONS })
    const killer = new Client({ connectionString: url })
    await killer.connect()
    const kill = async (chance = 1) => {
      const { rows } = await killer.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and random() < $1`,
        [chance],
      )
      return rows.length
    }
    try {
      await engine.migrate(MIGRATIONS)
      await work({ url, engine, kill })
    } finally {
      await Promise.all([engine.close(), killer.end()])
    }
  })
}

const mark = (work: string, part: number): Sql =>
  sql`insert into marks (work, part) values (${work}, ${part})`

/** Each stores the parts 0 to 2 of its work. */
const ways: Readonly<Record<string, (engine: Engine, work: string) => Promise<unknown>>> = {
  byTurns: (engine, work) =>
    engine.write(async (tx) => {
      for (const part of [0, 1, 2]) await tx.run(mark(work, part))
    }),
  atOnce: (engine, work) =>
    engine.write((tx) => allEnded([0, 1, 2].map((part) => tx.run(mark(work, part))))),
  leftBehind: (engine, work) =>
    engine.write((tx) => Promise.all([0, 1, 2].map((part) => tx.run(mark(work, part))))),
  inBulk: (engine, work) =>
    engine.write(async (tx) => {
      const columns = { work: 'text', part: 'bigint' } as const
      const more = Array.from({ length: 6_000 }, (_, index) => [`more ${work}`, index] as const)
      await tx.insert({ table: 'marks', columns }, more)
      await tx.insert(
        { table: 'marks', columns },
        [0, 1, 2].map((part) => [work, part]),
      )
    }),
}

lossTest(
  'while backends die again and again every call ends, what was acknowledged is stored, and no half of anything',
  async ({ engine, kill }) => {
    let killed = 0
    let failures = 0
    const acknowledged = new Set<string>()
    const worker = async (
      name: string,
      way: (engine: Engine, work: string) => Promise<unknown>,
    ) => {
      for (let turn = 0; killed < KILLS; turn += 1) {
        const work = `${name} ${turn}`
        try {
          await way(engine, work)
          acknowledged.add(work)
        } catch (error) {
          assert.ok(error instanceof StoreError, String(error))
          failures += 1
        }
        await engine.read(sql`select part from marks where work = ${work}`).catch((error) => {
          assert.ok(error instanceof StoreError, String(error))
        })
      }
    }
    const killing = async () => {
      while (killed < KILLS) killed += await kill(0.4)
    }
    const workers = Object.entries(ways).flatMap(([name, way]) => [
      worker(`${name} a`, way),
      worker(`${name} b`, way),
    ])
    await Promise.all([killing(), ...workers])
    assert.ok(failures > 0 && acknowledged.size > 0)

    const pids = await everyConnection(engine)
    assert.equal(pids.size, CONNECTIONS)
    const found = await engine.read(
      sql`select work, count(*) as parts from marks where work not like 'more %' group by work`,
    )
    assert.deepEqual(
      found.filter((row) => row.parts !== 3),
      [],
    )
    const stored = new Set(found.map((row) => row.work))
    assert.deepEqual(
      [...acknowledged].filter((work) => !stored.has(work)),
      [],
    )
  },
)

/** Backends of as many transactions as there are connections; each may have been lost unseen once. */
async function everyConnection(engine: Engine): Promise<ReadonlySet<unknown>> {
  for (let lost = 0; lost < CONNECTIONS; lost += 1) {
    const pids = new Set<unknown>()
    const all = Promise.withResolvers<void>()
    const hold = engine.write.bind(engine, async (tx) => {
      const [row] = await tx.run(sql`select pg_backend_pid() as pid`)
      pids.add(row?.pid)
      if (pids.size === CONNECTIONS) all.resolve()
      await all.promise
    })
    const results = await Promise.allSettled(
      Array.from({ length: CONNECTIONS }, () =>
        hold().catch((error) => {
          all.resolve()
          throw error
        }),
      ),
    )
    if (results.every((each) => each.status === 'fulfilled')) return pids
  }
  return assert.fail('a connection stays lost')
}

lossTest('no statement of a transaction reaches another connection', async ({ engine, kill }) => {
  const swallowed = engine.write(async (tx) => {
    await tx.run(mark('lost', 0))
    await kill()
    const others = [0, 1, 2].map((part) => engine.write((other) => other.run(mark('other', part))))
    await assert.rejects(tx.run(mark('lost', 1)), StoreError)
    await Promise.allSettled(others)
    await assert.rejects(tx.run(mark('lost', 2)), StoreError)
  })
  await assert.rejects(swallowed, StoreError)
  const found = await engine.read(sql`select part from marks where work = 'lost'`)
  assert.deepEqual(found, [])
})

lossTest('a failed statement whose failure nobody minds stores nothing', async ({ engine }) => {
  const minded = engine.write(async (tx) => {
    await tx.run(mark('a', 0))
    await tx.run(mark('a', 0)).catch(() => undefined)
  })
  await assert.rejects(minded, StoreError)
  assert.deepEqual(await engine.read(sql`select part from marks`), [])
})

lossTest(
  'a statement that comes after the end of its transaction is refused',
  async ({ engine }) => {
    const late = await engine.write(async (tx) => () => tx.run(mark('late', 0)))
    await assert.rejects(late(), /over/)
    assert.deepEqual(await engine.read(sql`select part from marks`), [])
  },
)

lossTest(
  'a server that is refused, cut off or silent fails calls and is found again',
  async ({ url }) => {
    const way = await openWay(url)
    const engine = openPostgres({
      url: way.url,
      schema: 'accounts',
      connectionsMax: 2,
      silenceMaxMs: 1_000,
    })
    const ask = () => engine.read(sql`select 1 as one`)
    try {
      await eventually(ask)
      for (const fault of ['silent', 'refused', 'cut'] as const) {
        const underWay = engine.write(async (tx) => {
          await tx.run(mark(fault, 0))
          way.become(fault)
          await tx.run(mark(fault, 1))
        })
        await assert.rejects(underWay, StoreError)
        const asked = await Promise.allSettled(Array.from({ length: 20 }, ask))
        for (const each of asked)
          assert.ok(each.status === 'fulfilled' || each.reason instanceof StoreError)
        way.become('open')
        assert.deepEqual(await eventually(ask), [{ one: 1 }])
      }
      const stored = await eventually(() => engine.read(sql`select work from marks`))
      assert.deepEqual(stored, [])
    } finally {
      way.become('refused')
      await engine.close()
      await way.close()
    }
  },
)

/** A connection that is lost may be seen to be lost only when it is used, so each may fail once. */
async function eventually<T>(ask: () => Promise<T>): Promise<T> {
  for (let lost = 0; lost < CONNECTIONS; lost += 1) {
    try {
      return await ask()
    } catch (error) {
      assert.ok(error instanceof StoreError, String(error))
    }
  }
  return ask()
}
