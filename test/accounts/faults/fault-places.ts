import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestPostgres } from '#test/postgres.ts'
import { sqliteFiles } from '#test/strace.ts'
import { startAccountsWorld } from '../world/accounts-world.ts'
import { type FaultInput, type FaultResult, runFault } from './run-fault.ts'
import { failingCalls, fullDisk, killedProcess, type StoreFault } from './store-fault.ts'

const run = promisify(execFile)

const QUOTAS = { anonymous: 5_000, free: 10_000, premium: 20_000 }

/** Room for both stores of a short history, and little more. */
const SMALL_DISK = '48m'

/** What can go wrong with the files of SQLite, by name. */
export const sqliteFaults = ['full disk', 'no space', 'writes fail', 'syncs fail'] as const

export type SqliteFault = (typeof sqliteFaults)[number]

/** What can go wrong with the server's disk and processes, by name. */
export const postgresFaults = ['no space', 'a backend dies'] as const

export type PostgresFault = (typeof postgresFaults)[number]

type FaultLoad = Pick<FaultInput, 'lastsMs' | 'pauseMs'>

export interface FaultRun extends FaultResult {
  readonly audit: { readonly code: number | null; readonly words: string }
}

/** Runs one fault on a service with the embedded stores, then audits it; a full disk needs root. */
export async function breakSqlite(
  strace: string,
  { fault, ...load }: { readonly fault: SqliteFault } & FaultLoad,
): Promise<FaultRun> {
  const world = await startAccountsWorld({ quotas: QUOTAS })
  const isSmall = fault === 'full disk'
  if (isSmall)
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'none', world.dataFolder])
  try {
    const files = sqliteFiles(join(world.dataFolder, 'accounts.sqlite'))
    const faults: Readonly<Record<SqliteFault, StoreFault>> = {
      'full disk': fullDisk(world.dataFolder),
      'no space': failingCalls(strace, { calls: ['pwrite64'], error: 'ENOSPC', files }),
      'writes fail': failingCalls(strace, { calls: ['pwrite64'], error: 'EIO', files }),
      'syncs fail': failingCalls(strace, { calls: ['fdatasync', 'fsync'], error: 'EIO', files }),
    }
    const api = await world.start('start')
    await api.ready()
    const result = await runFault({
      world,
      api,
      fault: faults[fault],
      pids: async () => [api.pid],
      ...load,
    })
    await api.stop()
    return { ...result, audit: await world.audit() }
  } finally {
    if (isSmall) await run('umount', ['--lazy', world.dataFolder])
    await world.stop()
  }
}

/** Runs one fault on the server below a service, then audits it. */
export async function breakPostgres(
  strace: string,
  input: {
    readonly postgres: TestPostgres
    readonly fault: PostgresFault
  } & FaultLoad,
): Promise<FaultRun> {
  const { postgres, fault, ...load } = input
  const databaseUrl = await postgres.createDatabase()
  const world = await startAccountsWorld({ databaseUrl, quotas: QUOTAS })
  try {
    const api = await world.start('start')
    await api.ready()
    const faults: Readonly<Record<PostgresFault, StoreFault>> = {
      'no space': failingCalls(strace, {
        calls: ['pwrite64', 'pwritev'],
        error: 'ENOSPC',
        files: [],
      }),
      'a backend dies': killedProcess,
    }
    const pids = () => backendsOf(databaseUrl)
    const result = await runFault({ world, api, fault: faults[fault], pids, ...load })
    await api.stop()
    return { ...result, audit: await world.audit() }
  } finally {
    await world.stop()
  }
}

/** The server's processes for a database. */
async function backendsOf(databaseUrl: string): Promise<readonly number[]> {
  const { openPostgres } = await import('#db/postgres/open-postgres.ts')
  const { sql } = await import('#db/sql.ts')
  const engine = openPostgres({ url: databaseUrl, schema: 'accounts', connectionsMax: 1 })
  try {
    const found = await engine.read(sql`
      select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    return found.map(({ pid }) => Number(pid))
  } finally {
    await engine.close()
  }
}
