import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import type { BenchRow } from './bench-row.ts'
import { type ChainServer, type ServerOptions, startChainServer } from './chain-server.ts'
import { PONDER_LINES } from './install-ponder.ts'
import { type BenchResults, CHAINS, holds, promisedFigures, WHO } from './must-show.ts'
import { printResults } from './print-results.ts'
import { median, quantile } from './quantiles.ts'
import { compareReads, paceStats } from './read-latency.ts'
import { runPonder } from './run-ponder.ts'
import { runRaw } from './run-raw.ts'
import { runSexton, type SextonRun } from './run-sexton.ts'
import { summarise } from './summarise.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = parseArgs({
  options: {
    logs: { ...text, default: '1000000' },
    repeat: { ...text, default: '3' },
    /** 0 leaves the big chain and the read endpoints out. */
    big: { ...text, default: '10000000' },
    small: { ...text, default: '10000' },
    'rival-logs': { ...text, default: '20000' },
    seed: { ...text, default: '1' },
    'skip-rivals': flag,
    'skip-postgres': flag,
    'skip-slow': flag,
    json: text,
  },
})

/** The lower bound is the better of one request at a time and a few. */
const RAW_IN_FLIGHT = [1, 4]
const SLOW = { latency: 50, 'max-range': 2_000 } as const
/** A dashboard's pace; in a backfill of seconds it gives hundreds of answers. */
const STATS_EVERY_MS = 5
const IDLE_MS = 5_000

/** Every chain of a run ends at the same moment. */
const endUnix = Math.floor(Date.now() / 1000)
const rows: BenchRow[] = []
const results = await measureAll()
process.stdout.write(`${printResults(results)}\n`)
if (values.json !== undefined) await writeFile(values.json, JSON.stringify(results, null, 2))
process.exitCode = promisedFigures(results).every(holds) ? 0 : 1

async function measureAll(): Promise<BenchResults> {
  const postgres = values['skip-postgres'] ? undefined : await startPostgres({ durable: true })
  try {
    const stats = await measureMain(postgres)
    const reads = values.big === '0' ? undefined : await measureBig()
    return { lines: summarise(rows), stats, ...(reads !== undefined && { reads }) }
  } finally {
    await postgres?.stop()
  }
}

/** The competitors by turns, so that a slow moment of the machine hits all of them. */
async function measureMain(postgres: TestPostgres | undefined) {
  const main = await makeChain(values.logs, {})
  const slow = values['skip-slow'] ? undefined : await makeChain(values.logs, SLOW)
  const rival = values['skip-rivals']
    ? undefined
    : await makeChain(values['rival-logs'], { 'full-bloom': true })
  try {
    for (let run = 0; run < Number(values.repeat); run += 1) {
      for (const inFlight of RAW_IN_FLIGHT) await raw(main, CHAINS.main, { inFlight })
      await sexton(WHO.sqlite, CHAINS.main, { server: main })
      if (postgres !== undefined)
        await sexton(WHO.postgres, CHAINS.main, {
          server: main,
          databaseUrl: await postgres.createDatabase(),
        })
      if (slow !== undefined) await measureSlow(slow)
      if (rival !== undefined) await measureRivals(rival)
    }
    return await measureStats(main)
  } finally {
    for (const server of [main, slow, rival]) await server?.stop()
  }
}

async function measureSlow(server: ChainServer): Promise<void> {
  const { counts } = await sexton(WHO.sqlite, CHAINS.slow, { server })
  const inFlight = Math.max(1, counts.inFlightMax)
  const options = { inFlight, blocksMax: SLOW['max-range'] }
  // One name for all of them, so that the figure is the median of as many runs as the other one's.
  await raw(server, CHAINS.slow, options, 'raw, as many in flight')
}

async function measureRivals(server: ChainServer): Promise<void> {
  await raw(server, CHAINS.rival, { inFlight: 1 })
  await sexton(WHO.sqlite, CHAINS.rival, { server })
  for (const line of PONDER_LINES)
    try {
      add(`ponder ${line}, PGlite`, CHAINS.rival, await runPonder(server, line))
    } catch (error) {
      // A rival that fails has no figure; ours must not go with it.
      say(error instanceof Error ? error.message : String(error))
    }
}

/** p99 of `/api/stats` while the index reads history, and at the same pace afterwards: medians of the runs. */
async function measureStats(server: ChainServer) {
  const backfills: number[] = []
  const idles: number[] = []
  const everyMs = STATS_EVERY_MS
  for (let run = 0; run < Number(values.repeat); run += 1)
    await runSexton({
      server,
      whileIndexing: async (service, signal) => {
        backfills.push(quantile(await paceStats(service, { everyMs, signal }), 0.99))
      },
      whileReady: async (service) => {
        const signal = AbortSignal.timeout(IDLE_MS)
        idles.push(quantile(await paceStats(service, { everyMs, signal }), 0.99))
      },
    })
  return { backfill: median(backfills), idle: median(idles) }
}

/** The big chain, and how the size of the history shows in the read endpoints. */
async function measureBig() {
  const big = await makeChain(values.big, {})
  const small = await makeChain(values.small, {})
  let reads: BenchResults['reads']
  try {
    for (const inFlight of RAW_IN_FLIGHT) await raw(big, CHAINS.big, { inFlight })
    await sexton(WHO.sqlite, CHAINS.big, {
      server: big,
      whileReady: async (bigService) => {
        await runSexton({
          server: small,
          whileReady: async (smallService) => {
            await sleep(1_000)
            const [ofSmall = {}, ofBig = {}] = await compareReads([smallService, bigService])
            reads = { small: ofSmall, big: ofBig }
          },
        })
      },
    })
    return reads
  } finally {
    await big.stop()
    await small.stop()
  }
}

async function makeChain(logs: string, options: ServerOptions): Promise<ChainServer> {
  say(`making a chain of ${logs} logs`)
  return startChainServer({ logs, seed: values.seed, 'end-unix': endUnix, ...options })
}

async function raw(
  server: ChainServer,
  chain: string,
  options: Parameters<typeof runRaw>[1],
  who = `raw, ${options.inFlight} in flight`,
) {
  const run = await runRaw(server, options)
  const { wanted } = await server.truth()
  add(who, chain, { ...run, logs: wanted })
}

async function sexton(who: string, chain: string, run: SextonRun) {
  const result = await runSexton(run)
  add(who, chain, result)
  return result
}

function add(who: string, chain: string, run: Omit<BenchRow, 'who' | 'chain'>): void {
  rows.push({ ...run, who, chain })
  say(`${who} on ${chain}: ${run.logs} logs in ${run.seconds.toFixed(2)} s`)
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
