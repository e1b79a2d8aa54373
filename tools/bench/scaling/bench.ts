import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { seedCallers } from '../api/accounts.ts'
import { pinPostgres } from '../api/pin-postgres.ts'
import type { PinnedProcess } from '../api/pinned-process.ts'
import { checkpointPostgres } from '../api/postgres-load.ts'
import { makeRegister } from '../api/sexton-register.ts'
import { startService } from '../api/sexton-service.ts'
import { bottleneckOf, type Checked, checkModel } from './check-model.ts'
import { fitCosts } from './fit-costs.ts'
import { type Load, type Measured, measureLoad, measureTimes, type Site } from './measure-load.ts'
import type { Costs, Work } from './simulate.ts'

interface Options {
  readonly seconds: number
  readonly rounds: number
  readonly path: string
  readonly json?: string
}

const values = new Command('node tools/bench/scaling/bench.ts')
  .description(
    'Throughput of one, two and three replicas on one PostgreSQL, with the processor time of each process per call. Replicas share core 0; PostgreSQL and the load generators share core 1, so that the time per call, not the throughput, is the figure on a machine of two cores.',
  )
  .option('--seconds <seconds>', 'of each load in a round', readNumber, 5)
  .option('--rounds <count>', 'of all loads; figures are medians', readNumber, 3)
  .option('--path <path>', 'what is asked', '/api/burns?period=1d')
  .option('--json <file>', 'all results as JSON')
  .parse()
  .opts<Options>()

const WALLETS = 100
const PLENTY = { anonymous: 1_000_000_000, free: 1_000_000_000, premium: 1_000_000_000 }
/** What a disk for the log takes; nothing here comes near it. */
const WAL_BYTES_PER_SECOND = 200_000_000
const [REPLICA_CORE, DATABASE_CORE] = [0, 1]

const many = { wallets: WALLETS }
const hot = { wallets: 1 }

/** From these the costs are fitted. */
const FITTED: readonly Load[] = [
  { replicas: 1, ...many, connections: 6 },
  { replicas: 1, ...many, connections: 192 },
  { replicas: 2, ...many, connections: 48 },
  { replicas: 1, ...hot, connections: 48 },
]

/** These the model predicts. */
const PREDICTED: readonly Load[] = [
  { replicas: 1, ...many, connections: 48 },
  { replicas: 3, ...many, connections: 48 },
  { replicas: 3, ...hot, connections: 48 },
]

/** For comparison. */
const OTHERS: readonly Load[] = [
  { replicas: 2, ...hot, connections: 48 },
  { replicas: 1, ...many, connections: 4, perSecond: 300 },
]

const LOADS = [...FITTED, ...PREDICTED, ...OTHERS]

const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-scaling-'))
const postgres = await startPostgres({ durable: true, own: true })
const servers: PinnedProcess[] = []
try {
  const site = await openSite()
  const rounds: Measured[][] = []
  for (const each of LOADS.slice(1, 4)) await measureLoad(site, each)
  for (let round = 0; round < values.rounds; round += 1) {
    const rows: Measured[] = []
    for (const load of LOADS) {
      await checkpointPostgres(site.databaseUrl)
      await measureLoad({ ...site, seconds: 1 }, load)
      rows.push(await measureLoad(site, load))
      process.stdout.write(`round ${round + 1}: ${rows.length} of ${LOADS.length} loads\n`)
    }
    rounds.push(rows)
  }
  const medians = LOADS.map((_, index) => medianOf(rounds.flatMap((each) => each[index] ?? [])))
  print(medians)
  const disk = {
    ...(await measureTimes(site.databaseUrl)),
    walBytesPerSecond: WAL_BYTES_PER_SECOND,
  }
  const costs = fitCosts(medians.slice(0, FITTED.length), disk)
  const checks = medians
    .slice(FITTED.length, FITTED.length + PREDICTED.length)
    .map((each) => checkModel(costs, each))
  printModel(costs, checks)
  const results = { measured: medians, costs, checks }
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(results, null, 2))
} finally {
  await Promise.all(servers.map((each) => each.stop()))
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

async function openSite(): Promise<Site> {
  const databaseUrl = await postgres.createDatabase()
  const place = { folder, databaseUrl }
  await makeRegister(folder, databaseUrl)
  await pinPostgres(postgres.url, DATABASE_CORE)
  const files = new Map<number, string>()
  for (const wallets of [1, WALLETS]) {
    const seeded = await seedCallers(place, { wallets, keysPerWallet: 1, balance: 0n })
    files.set(wallets, seeded.secretsFile)
  }
  for (let replica = 0; replica < 3; replica += 1)
    servers.push(await startService({ ...place, core: REPLICA_CORE, quotas: PLENTY }))
  return {
    ...place,
    servers,
    path: values.path,
    seconds: values.seconds,
    loadCore: DATABASE_CORE,
    secretsFile: async (wallets) => files.get(wallets) ?? '',
  }
}

function medianOf(rows: readonly Measured[]): Measured {
  const [first] = rows
  if (first === undefined) throw new Error('at least one round')
  const median = (figure: (row: Measured) => number) =>
    rows.map(figure).sort((a, b) => a - b)[Math.floor(rows.length / 2)] ?? Number.NaN
  return {
    ...first,
    calls: median((each) => each.calls),
    commits: median((each) => each.commits),
    walBytes: median((each) => each.walBytes),
    replicaCpu: first.replicaCpu.map((_, index) =>
      median((each) => each.replicaCpu[index] ?? Number.NaN),
    ),
    databaseCpu: median((each) => each.databaseCpu),
    loadCpu: median((each) => each.loadCpu),
    p50Ms: median((each) => each.p50Ms),
    p99Ms: median((each) => each.p99Ms),
  }
}

function print(rows: readonly Measured[]): void {
  const head =
    'replicas wallets connections  calls/s | us of processor per call: replicas, PostgreSQL, load | calls/commit  WAL B/call  p50 ms  p99 ms'
  process.stdout.write(`${head}\n`)
  for (const row of rows) {
    const us = (perSecond: number) => ((perSecond / row.calls) * 1e6).toFixed(0)
    const pace = row.perSecond === undefined ? '' : ` at ${row.perSecond}/s`
    process.stdout.write(
      `${row.replicas} ${row.wallets} ${row.connections}${pace}  ${row.calls.toFixed(0)} | ${row.replicaCpu.map(us).join(' + ')}, ${us(row.databaseCpu)}, ${us(row.loadCpu)} | ${(row.calls / row.commits).toFixed(1)}  ${(row.walBytes / row.calls).toFixed(0)}  ${row.p50Ms.toFixed(1)}  ${row.p99Ms.toFixed(1)}\n`,
    )
  }
}

function printModel(costs: Costs, checks: readonly Checked[]): void {
  const show = ({ perCall, perBatch, perWallet }: Work) =>
    `${perCall.toFixed(0)} per call + ${perBatch.toFixed(0)} per batch + ${perWallet.toFixed(1)} per wallet in it`
  process.stdout.write(
    `fitted: replica ${show(costs.replica)} us; PostgreSQL ${show(costs.database)} us; WAL ${show(costs.wal)} bytes; ` +
      `flush ${costs.flushMs.toFixed(2)} ms, exchange ${costs.roundTripMs.toFixed(2)} ms\n` +
      'predicted / measured\n',
  )
  for (const { load, predicted, ratios } of checks) {
    const list = Object.entries(ratios).map(([name, ratio]) => `${name} ${ratio.toFixed(2)}`)
    process.stdout.write(
      `${load.replicas} ${load.wallets} ${load.connections}  ${list.join(', ')}; busiest: ${bottleneckOf(predicted)}\n`,
    )
  }
}
