import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { CARRIED } from '#carry-over/carry-over.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { type SqlValue, sql } from '#store/sql.ts'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'

/** The tables of 0.1.0, as its migrations made them. */
const textOf = (dialect: Engine['dialect']) =>
  readFileSync(join(import.meta.dirname, `accounts-0.1.0.${dialect}.sql`), 'utf8')

/** An empty accounts store of 0.1.0 in a file. */
export function oldSqlite(file: string): Engine {
  const database = new DatabaseSync(file)
  database.exec(textOf('sqlite'))
  database.close()
  return openSqlite({ file, durability: 'full' })
}

/** An empty accounts store of 0.1.0 in a database. */
export async function oldPostgres(url: string): Promise<Engine> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`create schema accounts; set search_path = accounts; ${textOf('postgres')}`)
  await client.end()
  return openPostgres({ url, schema: 'accounts' })
}

/** Columns that 0.1.0 lacks. */
const ADDED: readonly string[] = ['given_up', 'previous', 'limits']

/** Fills a store of 0.1.0 with what a store of this version holds. */
export async function fillOld(old: Engine, from: Engine): Promise<void> {
  const { columns } = buildSchema(accountsMigrations)
  await old.write(async (tx) => {
    for (const table of CARRIED) {
      const known = (columns.get(table) ?? []).filter(({ name }) => !ADDED.includes(name))
      const names = known.map(({ name }) => name)
      const found = await from.read({
        kind: 'sql',
        parts: [`select ${names.join(', ')} from ${table}`],
        values: [],
      })
      const rows = found.map((row) => names.map((name) => row[name] as SqlValue))
      // The successor of a key comes before it.
      if (table === 'keys') rows.sort((a, b) => Number(a[6] !== null) - Number(b[6] !== null))
      await tx.insert(
        { table, columns: Object.fromEntries(known.map(({ name, type }) => [name, type])) },
        rows,
      )
    }
  })
}

/** Pays for calls as 0.1.0 did: they accrue beside the balance. */
export async function payAsBefore(
  old: Engine,
  call: {
    readonly account: string
    readonly bucket: string
    readonly day: number
    readonly calls: number
  },
): Promise<void> {
  const { account, bucket, day, calls } = call
  await old.write(async (tx) => {
    await tx.run(sql`
      update usage_days set paid = paid + ${calls} where bucket = ${bucket} and day = ${day}`)
    await tx.run(sql`
      update balances set micro_usd = micro_usd - ${calls * 100}, accruing_calls = ${calls},
        accruing_day = ${day}, accruing_price_micro_usd = 100
      where account = ${account}`)
  })
}
