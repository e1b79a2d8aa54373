import { Mutex } from '#lib/mutex.ts'
import { type Connection, StoreError } from '../engine.ts'
import { BEING_MOVED, MOVED, MOVED_ID } from '../migrate.ts'
import { column } from '../row.ts'
import { type Sql, sql } from '../sql.ts'
import { FROZEN, SqliteConnection } from './sqlite-connection.ts'

export interface FileMove {
  readonly id: string
  readonly place: string
}

/** `open`: still the store in use. `handedOver`: the target alone knows whether it is. */
export type MoveState =
  | { readonly kind: 'open' }
  | { readonly kind: 'busy' }
  | ({ readonly kind: 'handedOver' } & FileMove)
  | { readonly kind: 'moved'; readonly place: string }

export interface MovedTable {
  readonly table: string
  readonly key: readonly string[]
}

/** A mover silent this long counts as dead: writers go on, and what they change is not noted. */
const SILENT_MS = 10_000

const CACHE_KIB = 16 * 1_024

/**
 * A store file that leaves for another place while others use it: first their changes are noted, then
 * they are refused. All on one connection, so that SQLite's data version shows any other's write.
 */
export class MovingFile {
  readonly connection: SqliteConnection
  readonly #tables: readonly MovedTable[]
  readonly #writes = new Mutex()
  #version = 0

  private constructor(connection: SqliteConnection, tables: readonly MovedTable[]) {
    this.connection = connection
    this.#tables = tables
  }

  static async open(file: string, tables: readonly MovedTable[]): Promise<MovingFile> {
    const connection = new SqliteConnection({ file, cacheKib: CACHE_KIB })
    // A lost mark could leave two stores in use.
    await connection.execute('pragma synchronous = full')
    return new MovingFile(connection, tables)
  }

  async state(): Promise<MoveState> {
    const { connection } = this
    const [mark] = await connection.run(sql`select name from migrations where id = ${MOVED_ID}`)
    const tables = await connection.run(
      sql`select 1 from sqlite_master where type = 'table' and name = 'moving'`,
    )
    const [found] =
      tables.length === 0
        ? []
        : await connection.run(sql`
            select id, place, closed, is_void = 0 and ${isAhead('watched_until_ms')}
              or ${isAhead('frozen_until_ms')} as busy from moving`)
    if (found === undefined)
      return mark === undefined
        ? { kind: 'open' }
        : { kind: 'moved', place: column.text(mark, 'name').replace(MOVED, '') }
    const move = { id: column.text(found, 'id'), place: column.text(found, 'place') }
    if (column.flag(found, 'closed')) return { kind: 'handedOver', ...move }
    return column.flag(found, 'busy') ? { kind: 'busy' } : { kind: 'open' }
  }

  /** Every later change is noted by its key. False if another mover is at work. */
  watch({ id, place }: FileMove): Promise<boolean> {
    return this.#write(async (tx) => {
      if ((await this.state()).kind !== 'open') return false
      await this.#clear()
      for (const text of movingSchema(this.#tables, place)) await this.connection.execute(text)
      await tx.run(sql`
        insert into moving (id, place, watched_until_ms)
        values (${id}, ${place}, ${NOW} + ${SILENT_MS})`)
      return true
    })
  }

  async renew({ id }: FileMove): Promise<void> {
    await this.#write((tx) =>
      tx.run(sql`
        update moving set watched_until_ms = ${NOW} + ${SILENT_MS},
          frozen_until_ms = case when frozen_until_ms = 0 then 0 else ${NOW} + ${SILENT_MS} end
        where id = ${id}`),
    )
  }

  /** Others are refused from here on. Throws if a change went by that was not noted. */
  async freeze({ id }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      const frozen = await tx.run(sql`
        update moving set frozen_until_ms = ${NOW} + ${SILENT_MS}
        where id = ${id} and is_void = 0 returning id`)
      if (frozen.length === 0) throw new StoreError(UNNOTED)
    })
    this.#version = await this.#dataVersion()
  }

  /** Keys of the rows that changed, as JSON lists, by table. */
  async changes(): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = await this.connection.run(
      sql`select of_table, row_key from moving_changes order by of_table, row_key`,
    )
    const byTable = Map.groupBy(found, (row) => column.text(row, 'of_table'))
    return new Map(
      [...byTable].map(([table, rows]) => [table, rows.map((row) => column.text(row, 'row_key'))]),
    )
  }

  /** Closes the file for good, until `thaw` or `leave`. Throws if anything was written meanwhile. */
  async handOver({ id, place }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      if ((await this.#dataVersion()) !== this.#version) throw new StoreError(UNNOTED)
      await tx.run(sql`update moving set closed = 1 where id = ${id}`)
      await tx.run(sql`
        insert into migrations (id, name) values (${MOVED_ID}, ${BEING_MOVED + place})`)
    })
  }

  async thaw({ id }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      if (!(await this.#isOf(id))) return
      await tx.run(sql`delete from migrations where id = ${MOVED_ID}`)
      await this.#clear()
    })
  }

  /** Renames every table, so that a process that still runs can read nothing outdated. */
  async leave({ id, place }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      if (!(await this.#isOf(id))) throw new StoreError('another mover has ended this move')
      await this.#clear()
      for (const { table } of this.#tables)
        await this.connection.execute(`alter table ${table} rename to moved_${table}`)
      await tx.run(sql`
        update migrations set name = ${MOVED + place} where id = ${MOVED_ID}`)
    })
  }

  async close(): Promise<void> {
    await this.connection.close()
  }

  async #isOf(id: string): Promise<boolean> {
    const tables = await this.connection.run(
      sql`select 1 from sqlite_master where type = 'table' and name = 'moving'`,
    )
    if (tables.length === 0) return false
    return (await this.connection.run(sql`select 1 from moving where id = ${id}`)).length > 0
  }

  async #clear(): Promise<void> {
    const found = await this.connection.run(
      sql`select name from sqlite_master where type = 'trigger' and substr(name, 1, 7) = 'moving_'`,
    )
    for (const row of found)
      await this.connection.execute(`drop trigger ${column.text(row, 'name')}`)
    for (const table of ['moving', 'moving_changes'])
      await this.connection.execute(`drop table if exists ${table}`)
  }

  async #dataVersion(): Promise<number> {
    const [row] = await this.connection.run(sql`pragma data_version`)
    return row === undefined ? 0 : column.integer(row, 'data_version')
  }

  #write<T>(work: (tx: Connection) => Promise<T>): Promise<T> {
    return this.#writes.run(async () => {
      await this.connection.execute('begin immediate')
      try {
        const result = await work(this.connection)
        await this.connection.execute('commit')
        return result
      } catch (error) {
        await this.connection.rollBack()
        throw error
      }
    })
  }
}

const UNNOTED = 'the accounts were written unnoticed while they were copied; nothing was moved'

const EVENTS = { insert: ['new'], update: ['old', 'new'], delete: ['old'] } as const

/** The machine's clock, read by SQLite in every process alike. */
const NOW_TEXT = "cast(unixepoch('subsec') * 1000 as integer)"
const NOW = { kind: 'sql', parts: [NOW_TEXT], values: [] } as const

/** Further ahead than any mover sets it: the clock was set back, and the mover may be dead. */
function aheadText(column: string): string {
  return `${column} between ${NOW_TEXT} + 1 and ${NOW_TEXT} + ${2 * SILENT_MS}`
}

function isAhead(column: string): Sql {
  return { kind: 'sql', parts: [aheadText(column)], values: [] }
}

/** Leases change every second and are not moved, so they are frozen but not noted. */
function movingSchema(tables: readonly MovedTable[], place: string): readonly string[] {
  const words = `${FROZEN}the accounts are moving to ${place}`.replaceAll("'", "''")
  return [
    `create table moving (id text primary key, place text not null,
      watched_until_ms bigint not null, frozen_until_ms bigint not null default 0,
      closed smallint not null default 0, is_void smallint not null default 0)`,
    `create table moving_changes (of_table text not null, row_key text not null,
      primary key (of_table, row_key)) without rowid`,
    ...tables.flatMap((moved) =>
      Object.entries(EVENTS).flatMap(([event, images]) => [
        `create trigger moving_${moved.table}_${event} before ${event} on ${moved.table}
          when exists (select 1 from moving where closed = 1 or ${aheadText('frozen_until_ms')})
          begin select raise(abort, '${words}'); end`,
        ...(moved.key.length === 0 ? [] : [noteText(moved, event, images)]),
      ]),
    ),
  ]
}

/** A change after the mover fell silent voids the move, whatever clocks do later. */
function noteText(
  { table, key }: MovedTable,
  event: string,
  images: readonly ('old' | 'new')[],
): string {
  const notes = images.map((image) => {
    const value = `json_array(${key.map((name) => `${image}.${name}`).join(', ')})`
    return `insert into moving_changes (of_table, row_key) select '${table}', ${value}
      where exists (select 1 from moving where watched_until_ms > ${NOW_TEXT}) and not exists (
        select 1 from moving_changes where of_table = '${table}' and row_key = ${value});`
  })
  return `create trigger moving_note_${table}_${event} after ${event} on ${table}
    when exists (select 1 from moving where is_void = 0)
    begin ${notes.join(' ')}
      update moving set is_void = 1 where watched_until_ms <= ${NOW_TEXT}; end`
}
