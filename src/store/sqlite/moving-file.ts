import { Mutex } from '#lib/mutex.ts'
import { type Connection, StoreError } from '../engine.ts'
import { BEING_MOVED, MOVED, MOVED_ID } from '../migrate.ts'
import { column } from '../row.ts'
import { sql } from '../sql.ts'
import { FROZEN, SqliteConnection } from './sqlite-connection.ts'

export interface FileMove {
  readonly id: string
  /** Without password. */
  readonly place: string
}

/** `open`: still the store in use. `handedOver`: the target alone knows whether it is. */
export type MoveState =
  | { readonly kind: 'open' }
  | { readonly kind: 'frozen'; readonly untilMs: number }
  | ({ readonly kind: 'handedOver' } & FileMove)
  | { readonly kind: 'moved'; readonly place: string }

/** A mover silent this long counts as dead, and writers go on. */
export const FROZEN_MS = 10_000

const CACHE_KIB = 16 * 1_024

/**
 * A store file that leaves for another place while others use it. All on one connection, so that
 * SQLite's data version shows whether any other wrote meanwhile.
 */
export class MovingFile {
  readonly connection: SqliteConnection
  readonly #tables: readonly string[]
  readonly #writes = new Mutex()
  #version = 0

  private constructor(connection: SqliteConnection, tables: readonly string[]) {
    this.connection = connection
    this.#tables = tables
  }

  static async open(file: string, tables: readonly string[]): Promise<MovingFile> {
    const connection = new SqliteConnection({ file, cacheKib: CACHE_KIB })
    // A lost mark could leave two stores in use.
    await connection.execute('pragma synchronous = full')
    return new MovingFile(connection, tables)
  }

  async state(): Promise<MoveState> {
    const { connection } = this
    const [mark] = await connection.run(sql`select name from migrations where id = ${MOVED_ID}`)
    const [found] = (await this.#hasTable())
      ? await connection.run(sql`select id, place, until_ms, ${NOW} as now_ms from moving`)
      : []
    if (found === undefined)
      return mark === undefined
        ? { kind: 'open' }
        : { kind: 'moved', place: column.text(mark, 'name').replace(MOVED, '') }
    const untilMs = column.integerOrNull(found, 'until_ms')
    if (untilMs === null)
      return {
        kind: 'handedOver',
        id: column.text(found, 'id'),
        place: column.text(found, 'place'),
      }
    const isOver = untilMs <= column.integer(found, 'now_ms')
    return isOver ? { kind: 'open' } : { kind: 'frozen', untilMs }
  }

  /** Other writers are refused from here on. False if another mover froze it. */
  async freeze({ id, place }: FileMove): Promise<boolean> {
    const isFrozen = await this.#write(async (tx) => {
      if ((await this.state()).kind !== 'open') return false
      await this.#melt()
      await this.connection.execute(
        'create table moving (id text primary key, place text not null, until_ms bigint)',
      )
      await tx.run(sql`
        insert into moving (id, place, until_ms) values (${id}, ${place}, ${NOW} + ${FROZEN_MS})`)
      for (const text of this.#triggers(place)) await this.connection.execute(text)
      return true
    })
    this.#version = await this.#dataVersion()
    return isFrozen
  }

  /** While the rows are copied. */
  async renew({ id }: FileMove): Promise<void> {
    await this.#write((tx) =>
      tx.run(sql`
        update moving set until_ms = ${NOW} + ${FROZEN_MS}
        where id = ${id} and until_ms is not null`),
    )
  }

  /** Closes the file for good, until `thaw` or `leave`. Throws if anything was written meanwhile. */
  async handOver({ id, place }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      if ((await this.#dataVersion()) !== this.#version)
        throw new StoreError('the accounts were written while they were copied')
      await tx.run(sql`update moving set until_ms = null where id = ${id}`)
      await tx.run(sql`
        insert into migrations (id, name) values (${MOVED_ID}, ${BEING_MOVED + place})`)
    })
  }

  async thaw(): Promise<void> {
    await this.#write(async (tx) => {
      await tx.run(sql`delete from migrations where id = ${MOVED_ID}`)
      await this.#melt()
    })
  }

  /** Renames every table, so that a process that still runs can read nothing outdated. */
  async leave({ place }: FileMove): Promise<void> {
    await this.#write(async (tx) => {
      await this.#melt()
      for (const table of this.#tables)
        await this.connection.execute(`alter table ${table} rename to moved_${table}`)
      await tx.run(sql`
        update migrations set name = ${MOVED + place} where id = ${MOVED_ID}`)
    })
  }

  async close(): Promise<void> {
    await this.connection.close()
  }

  async #hasTable(): Promise<boolean> {
    const found = await this.connection.run(
      sql`select 1 from sqlite_master where type = 'table' and name = 'moving'`,
    )
    return found.length > 0
  }

  async #melt(): Promise<void> {
    for (const name of this.#triggerNames())
      await this.connection.execute(`drop trigger if exists ${name}`)
    await this.connection.execute('drop table if exists moving')
  }

  #triggerNames(): readonly string[] {
    return this.#tables.flatMap((table) => EVENTS.map((event) => `moving_${table}_${event}`))
  }

  #triggers(place: string): readonly string[] {
    const words = `${FROZEN}the accounts are moving to ${place}`.replaceAll("'", "''")
    return this.#tables.flatMap((table) =>
      EVENTS.map(
        (event) => `create trigger moving_${table}_${event} before ${event} on ${table}
          when exists (select 1 from moving where until_ms is null or until_ms > ${NOW_TEXT})
          begin select raise(abort, '${words}'); end`,
      ),
    )
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

const EVENTS = ['insert', 'update', 'delete'] as const

/** The machine's clock, read by SQLite in every process alike. */
const NOW_TEXT = "cast(unixepoch('subsec') * 1000 as integer)"
const NOW = { kind: 'sql', parts: [NOW_TEXT], values: [] } as const
