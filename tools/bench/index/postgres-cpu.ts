import { Client } from 'pg'
import { familyCpuSeconds, parentOf } from './process-figures.ts'

/** Measures the processor seconds that a PostgreSQL server on this machine uses from now on. */
export async function postgresCpu(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const server = await parentOf(rows[0]?.pid ?? 0)
  const before = await familyCpuSeconds(server)
  return {
    used: async () => (await familyCpuSeconds(server)) - before,
    close: () => client.end(),
  }
}
