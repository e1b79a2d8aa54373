import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { type AccountsPlace, readCounted } from '../api/accounts.ts'
import { PROGRAM as OPEN_LOOP } from '../api/run-open-loop.ts'
import { runWrk } from '../api/run-wrk.ts'
import { postgresCpu } from '../index/postgres-cpu.ts'
import { cpuSeconds } from '../index/process-figures.ts'

/** What is asked of some of the replicas. */
export interface Load {
  readonly replicas: number
  /** Wallets that call in turn; one is a hot one. */
  readonly wallets: number
  /** Over all replicas. */
  readonly connections: number
  /** Arrivals a second over all replicas, zero for none; as fast as the connections can unless given. */
  readonly perSecond?: number
}

/** By second. */
export interface Measured extends Load {
  readonly calls: number
  readonly commits: number
  readonly walBytes: number
  /** Processor seconds of each replica, of PostgreSQL and of the load generators. */
  readonly replicaCpu: readonly number[]
  readonly databaseCpu: number
  readonly loadCpu: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Site extends AccountsPlace {
  readonly databaseUrl: string
  readonly servers: readonly { readonly url: string; readonly pid: number }[]
  /** Secrets of so many wallets, one key each. */
  secretsFile(wallets: number): Promise<string>
  readonly path: string
  readonly seconds: number
  readonly loadCore: number
}

export async function measureLoad(site: Site, load: Load): Promise<Measured> {
  const database = await postgresCpu(site.databaseUrl)
  try {
    return await measureBeside(site, load, database.used)
  } finally {
    await database.close()
  }
}

async function measureBeside(
  site: Site,
  load: Load,
  usedByDatabase: () => Promise<number>,
): Promise<Measured> {
  const servers = site.servers.slice(0, load.replicas)
  const secretsFile = await site.secretsFile(load.wallets)
  const figures = async () => ({
    cpu: await Promise.all(servers.map(({ pid }) => cpuSeconds(pid))),
    database: await usedByDatabase(),
    counted: await readCounted(site),
    wal: await walBytes(site.databaseUrl),
  })
  const before = await figures()
  const startedMs = performance.now()
  const results = await Promise.all(servers.map(({ url }) => run(site, { load, url, secretsFile })))
  const seconds = (performance.now() - startedMs) / 1_000
  const after = await figures()
  return {
    ...load,
    calls: (after.counted.free - before.counted.free) / seconds,
    commits: (after.counted.batches - before.counted.batches) / seconds,
    walBytes: (after.wal - before.wal) / seconds,
    replicaCpu: after.cpu.map((each, index) => (each - (before.cpu[index] ?? 0)) / seconds),
    databaseCpu: (after.database - before.database) / seconds,
    loadCpu: results.reduce((sum, each) => sum + each.cpuSeconds, 0) / seconds,
    p50Ms: Math.max(...results.map((each) => each.p50Ms)),
    p99Ms: Math.max(...results.map((each) => each.p99Ms)),
  }
}

interface OneRun {
  readonly load: Load
  readonly url: string
  readonly secretsFile: string
}

async function run(site: Site, { load, url, secretsFile }: OneRun) {
  const { path, seconds, loadCore: core } = site
  const connections = load.connections / load.replicas
  if (load.perSecond === undefined)
    return runWrk({ url: url + path, connections, seconds, core, secretsFile })
  if (load.perSecond === 0) {
    await sleep(seconds * 1_000)
    return { seconds, p50Ms: 0, p99Ms: 0, cpuSeconds: 0 }
  }
  const perSecond = load.perSecond / load.replicas
  const input = { url: url + path, perSecond, seconds, connections, secretsFile }
  const command = ['-c', String(core), process.execPath, OPEN_LOOP, JSON.stringify(input)]
  const { stdout } = await promisify(execFile)('taskset', command)
  const { p50Ms, p99Ms } = JSON.parse(stdout)
  // It spins between arrivals, so its processor time says nothing.
  return { seconds, p50Ms, p99Ms, cpuSeconds: Number.NaN }
}

async function walBytes(url: string): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
  )
  await client.end()
  return rows[0]?.bytes ?? Number.NaN
}

const TIMED = 300

/** Milliseconds of a flush, by commits with and without one, and of an exchange with the database. */
export async function measureTimes(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const timed = async (statement: string) => {
    const startedMs = performance.now()
    for (let turn = 0; turn < TIMED; turn += 1) await client.query(statement)
    return (performance.now() - startedMs) / TIMED
  }
  await client.query('create table public.timed as select 1 as one')
  const change = 'update public.timed set one = one + 1'
  const durable = await timed(change)
  await client.query('set synchronous_commit = off')
  const quick = await timed(change)
  const roundTripMs = await timed('select 1')
  await client.query('drop table public.timed')
  await client.end()
  return { flushMs: Math.max(0.01, durable - quick), roundTripMs }
}
