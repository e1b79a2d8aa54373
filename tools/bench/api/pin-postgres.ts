import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { parentOf } from '../index/process-figures.ts'

/** Keeps a PostgreSQL server on this machine, with all its processes to come, on one core. */
export async function pinPostgres(url: string, core: number): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const server = await parentOf(rows[0]?.pid ?? 0)
  await client.end()
  for (const pid of [server, ...(await childrenOf(server))])
    await promisify(execFile)('taskset', ['-c', '-p', String(core), String(pid)]).catch(() => {})
}

async function childrenOf(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number))
}
