import { type Connection, InUseError, type Migration } from '../engine.ts'
import { appliedIds, applyMissing } from '../migrate.ts'
import { isBusy, SqliteConnection } from './sqlite-connection.ts'

const CACHE_KIB = 16 * 1_024

/**
 * One transaction in a file that exists and that no other connection has open, or can open meanwhile.
 * It begins with the migrations that are missing. Throws InUseError.
 */
export async function aloneOnSqlite<T>(
  file: string,
  work: (tx: Connection) => Promise<T>,
  migrations: readonly Migration[] = [],
): Promise<T> {
  const connection = await open(file)
  try {
    if (migrations.length > 0) {
      const execute = (text: string) => connection.execute(text)
      const applied = await appliedIds(connection, migrations)
      await applyMissing({ connection, dialect: 'sqlite', execute }, { migrations, applied })
    }
    const result = await work(connection)
    await connection.execute('commit')
    return result
  } catch (error) {
    await connection.rollBack()
    throw error
  } finally {
    await connection.close()
  }
}

async function open(file: string): Promise<SqliteConnection> {
  try {
    const connection = new SqliteConnection({ file, cacheKib: CACHE_KIB, isAlone: true })
    await connection.execute('pragma synchronous = full; begin immediate')
    return connection
  } catch (cause) {
    if (!isBusy(cause)) throw cause
    throw new InUseError(`${file} is in use by another process`, { cause })
  }
}
