import { appendFile, chmod, cp, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { handle, ownServers, run, serve, type TestPostgres, temporaryRoot } from './postgres.ts'

/** A standby that follows a server of this file by streaming replication, with databases of its own none. */
export async function startStandby(
  primary: TestPostgres,
): Promise<Pick<TestPostgres, 'url' | 'stop'>> {
  const from = ownServers.get(primary)
  if (from === undefined) throw new Error('only a server of this file can be followed')
  const { install, password } = from
  const { account } = install
  const folder = await mkdtemp(join(await temporaryRoot(account), 'sexton-postgres-'))
  const folders = { folder, data: await mkdtemp(join(dirname(from.data), 'sexton-data-')) }
  await copyWhileRunning(primary.url, from.data, folders.data)
  const { port } = new URL(primary.url)
  const settings = `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=${password}'\n`
  await appendFile(join(folders.data, 'postgresql.auto.conf'), settings)
  await writeFile(join(folders.data, 'standby.signal'), '')
  await chmod(folders.data, 0o700)
  if (account !== undefined)
    await run('chown', ['-R', `${account.uid}:${account.gid}`, folders.data], undefined)
  const server = await serve(install, { data: folders.data, durable: false })
  return handle(server, { ...folders, password })
}

/** The low-level API of a base backup (PostgreSQL 18, 25.3.4). */
async function copyWhileRunning(url: string, from: string, to: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('standby', true)`)
    const isKept = (path: string) => !/postmaster\.(pid|opts)$/.test(path)
    await cp(from, to, { recursive: true, filter: isKept, verbatimSymlinks: true })
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    await writeFile(join(to, 'backup_label'), rows[0].labelfile)
  } finally {
    await client.end()
  }
}
