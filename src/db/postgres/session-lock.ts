import type { SessionLock } from '../engine.ts'
import { sql } from '../sql.ts'
import { PostgresConnection, type PostgresConnectionOptions } from './postgres-connection.ts'

/** The server ends sessions that are silent for longer, so that a frozen or unreachable holder loses its lock. */
export const SILENT_HOLDER_MS = 10_000

/** Takes an advisory lock of the schema on its own connection; undefined while another session holds it. */
export async function lockSession(
  settings: PostgresConnectionOptions,
  key: number,
): Promise<SessionLock | undefined> {
  const connection = new PostgresConnection({
    ...settings,
    session: `${settings.session}; set idle_session_timeout = ${SILENT_HOLDER_MS}`,
    silenceMaxMs: SILENT_HOLDER_MS,
  })
  try {
    await connection.open()
    const [row] = await connection.run(sql`
      select pg_try_advisory_lock(cast(${key} as integer), hashtext(current_schema())) as is_ours`)
    if (row?.is_ours === true)
      return {
        keep: async () => void (await connection.command('select 1')),
        release: () => connection.close(),
      }
  } catch (error) {
    await connection.close()
    throw error
  }
  await connection.close()
  return undefined
}
