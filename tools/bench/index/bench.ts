import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { atLeast, atMost, median, printTable, reportPromised, say, short } from '../report.ts'
import { type ChainServer, startChainServer } from './chain-server.ts'
import type { Figures } from './figures.ts'
import { runRaw } from './raw-client.ts'
import { PONDER_LINES, runPonder } from './run-ponder.ts'
import { runSexton } from './run-sexton.ts'
import type { ServeOptions } from './serve-chain.ts'

interface Options {
  readonly logs: number
  readonly big: number
  readonly rivalLogs: number
  readonly repeat: number
  readonly postgres: boolean
}

const options = new Command('node tools/bench/index/bench.ts')
  .description('Sexton, Ponder and a raw client read the same synthetic chains, in turns.')
  .option(
    '--logs <count>',
    'of the main chain and of the one behind latency',
    readNumber,
    1_000_000,
  )
  .option('--big <count>', 'of the big chain, read once; 0 leaves it out', readNumber, 10_000_000)
  .option('--rival-logs <count>', 'of Ponder’s chain; 0 leaves Ponder out', readNumber, 20_000)
  .option('--repeat <count>', 'runs of each; figures are medians', readNumber, 3)
  .option('--no-postgres', 'leaves PostgreSQL out')
  .parse()
  .opts<Options>()

/** Answers of a few megabytes are parsed fastest. */
const RAW_BLOCKS = 4_000
/** The lower bound is the better of one request at a time and a few. */
const RAW_IN_FLIGHT = [1, 4]
const SLOW = { latency: 50, maxRange: 2_000 }

const endUnix = Math.floor(Date.now() / 1_000)
const runs = new Map<string, Figures[]>()
await measureAll()
printLines()
process.exitCode = reportPromised(promised()) ? 0 : 1

/** The competitors by turns, so that a slow moment of the machine hits all of them. */
async function measureAll(): Promise<void> {
  const { logs, rivalLogs, big } = options
  await onChain({ logs }, measureMain, options.repeat)
  await onChain({ logs, ...SLOW }, measureSlow, options.repeat)
  if (rivalLogs > 0) await onChain({ logs: rivalLogs }, measureRivals, options.repeat)
  if (big > 0) await onChain({ logs: big }, measureBig, 1)
}

async function onChain(
  chain: Partial<ServeOptions>,
  measure: (server: ChainServer) => Promise<void>,
  repeat: number,
): Promise<void> {
  say(`making a chain of ${chain.logs} logs`)
  const server = await startChainServer({ endUnix, ...chain })
  try {
    for (let run = 0; run < repeat; run += 1) await measure(server)
  } finally {
    await server.stop()
  }
}

async function measureMain(server: ChainServer): Promise<void> {
  await measureRaw('main', server)
  add('main', 'sexton, SQLite', await runSexton(server))
  if (!options.postgres) return
  const postgres = await startPostgres({ durable: true })
  try {
    add('main', 'sexton, PostgreSQL', await runSexton(server, await postgres.createDatabase()))
  } finally {
    await postgres.stop()
  }
}

/** The raw client has as many requests in flight as Sexton had. */
async function measureSlow(server: ChainServer): Promise<void> {
  const figures = await runSexton(server)
  add('slow', 'sexton, SQLite', figures)
  const inFlight = Math.max(1, figures.counts.inFlightMax)
  add('slow', 'raw', await runRaw(server, { inFlight, blocksMax: SLOW.maxRange }))
}

async function measureRivals(server: ChainServer): Promise<void> {
  await measureRaw('rival', server)
  add('rival', 'sexton, SQLite', await runSexton(server))
  for (const line of PONDER_LINES)
    try {
      add('rival', `ponder ${line}, PGlite`, await runPonder(server, line))
    } catch (error) {
      // A rival that fails has no figure; ours must not go with it.
      say(`ponder ${line} failed: ${error}`)
    }
}

async function measureBig(server: ChainServer): Promise<void> {
  await measureRaw('big', server)
  add('big', 'sexton, SQLite', await runSexton(server))
}

async function measureRaw(chain: string, server: ChainServer): Promise<void> {
  for (const inFlight of RAW_IN_FLIGHT)
    add(
      chain,
      `raw, ${inFlight} in flight`,
      await runRaw(server, { inFlight, blocksMax: RAW_BLOCKS }),
    )
}

function add(chain: string, who: string, figures: Figures): void {
  const name = `${chain}: ${who}`
  runs.set(name, [...(runs.get(name) ?? []), figures])
  say(`${name}: ${figures.logs} logs in ${figures.seconds.toFixed(2)} s`)
}

/** The median of a competitor's runs; NaN without any. */
function of(name: string, read: (figures: Figures) => number | undefined): number {
  return median((runs.get(name) ?? []).map((each) => read(each) ?? Number.NaN))
}

function rate(name: string): number {
  return of(name, ({ logs, seconds }) => logs / seconds)
}

/** The fastest raw client on a chain: the lower bound. */
function rawRate(chain: string): number {
  const names = [...runs.keys()].filter((name) => name.startsWith(`${chain}: raw`))
  return Math.max(...names.map(rate))
}

function printLines(): void {
  const head = ['run', 'logs', 'runs', 's', 'events/s', 'x raw', 'CPU s', 'peak MB', 'requests']
  const rows = [...runs].map(([name, list]) => [
    name,
    short(list[0]?.logs),
    String(list.length),
    short(of(name, ({ seconds }) => seconds)),
    short(rate(name)),
    short(rawRate(name.split(':')[0] ?? '') / rate(name)),
    short(of(name, (each) => each.cpuSeconds)),
    short(of(name, (each) => each.peakMegabytes)),
    short(of(name, ({ counts }) => counts.requests)),
    short(of(name, ({ counts }) => counts.inFlightMax)),
    short(of(name, (each) => each.usefulSeconds)),
    short(of(name, (each) => each.restartSeconds)),
  ])
  printTable([...head, 'in flight', 'useful s', 'restart s'], rows)
}

function promised() {
  const ours = (chain: string) => `${chain}: sexton, SQLite`
  const main = rate(ours('main'))
  const ponders = [...runs.keys()].filter((name) => name.includes('ponder'))
  const ponder = Math.max(...ponders.map(rate))
  return [
    atMost('cold, times the raw lower bound', rawRate('main') / main, 2),
    atLeast('cold on SQLite, events/s', main, 200_000),
    atLeast('cold on PostgreSQL, events/s', rate('main: sexton, PostgreSQL'), 80_000),
    atLeast('times the faster Ponder', main / ponder, 100),
    requests(ours('main')),
    atMost('50 ms and 2,000 blocks: times raw', rawRate('slow') / rate(ours('slow')), 2),
    atLeast('big: times the rate of main', rate(ours('big')) / main, 0.8),
    atMost(
      'big: peak MB',
      of(ours('big'), (each) => each.peakMegabytes),
      400,
    ),
    atMost(
      'big: seconds to the first useful answer',
      of(ours('big'), (each) => each.usefulSeconds),
      3,
    ),
    atMost(
      'big: seconds of a restart',
      of(ours('big'), (each) => each.restartSeconds),
      0.5,
    ),
    requests(ours('big')),
  ]
}

/** One for 6,000 logs, and those for the head and for polls. */
function requests(name: string) {
  const limit = Math.floor(of(name, ({ logs }) => logs) / 6_000) + 20
  return atMost(
    `requests without proofs of payments, ${name}`,
    of(name, ({ counts }) => counts.requests),
    limit,
  )
}
