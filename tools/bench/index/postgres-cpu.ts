import postgres from 'postgres'
import { familyCpuSeconds, parentOf } from './process-figures.ts'

/** Measures the processor seconds that a PostgreSQL server on this machine uses from now on. */
export async function postgresCpu(url: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const server = await parentOf(row?.pid ?? 0)
  const before = await familyCpuSeconds(server)
  return {
    used: async () => (await familyCpuSeconds(server)) - before,
    close: () => sql.end(),
  }
}
