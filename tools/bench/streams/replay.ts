import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { type EngineName, engineOption, readNumber } from '#test/program-options.ts'
import { withClient } from '#test/with-client.ts'
import { peakMegabytes } from '../bench-process.ts'
import { makeRegister, startSexton, untilServed } from '../start-sexton.ts'
import { fillFeed } from './fill-feed.ts'
import type { Replayed, ReplayInput } from './replay-readers.ts'

interface Options {
  readonly engine: EngineName
  readonly changes: number
  readonly callers: number
  readonly seconds: number
  readonly perSecond: number
}

const values = new Command('node tools/bench/streams/replay.ts')
  .description(
    'Fills a feed with changes, lets one caller and then many replay it from its start while honest callers ask for lists, and prints how long these waited, beside the same without a replay.',
  )
  .addOption(engineOption())
  .option('--changes <count>', 'in the feed', readNumber, 990_000)
  .option('--callers <count>', 'that replay at once', readNumber, 500)
  .option('--seconds <count>', 'of each measure', readNumber, 40)
  .option('--per-second <count>', 'calls of honest callers', readNumber, 100)
  .parse()
  .opts<Options>()

/** The service has one core; readers, honest callers and PostgreSQL share the other. */
const SERVICE_CORE = 0
const LOAD_CORE = 1
const QUOTA = 1_000_000_000
const READERS = join(import.meta.dirname, 'replay-readers.ts')
const HONEST = join(import.meta.dirname, '../open-loop-load.ts')
const SETTLE_SECONDS = 2

// This process waits, and the databases that it starts stay on its core.
await promisify(execFile)('taskset', ['-a', '-c', '-p', String(LOAD_CORE), String(process.pid)])
const postgres = values.engine === 'postgres' ? await startPostgres({ own: true }) : undefined
const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-replay-'))
try {
  const databaseUrl = await postgres?.createDatabase()
  const place = { folder, databaseUrl }
  await makeRegister(place)
  const { first, last } = await fillFeed(place, values.changes)
  if (databaseUrl !== undefined)
    await withClient(databaseUrl, async (client) => {
      await client.query('vacuum analyze')
      await client.query('checkpoint')
    })
  // Else the system writes the fill to the disk while calls wait for their commits.
  await promisify(execFile)('sync')
  print(`${values.engine}: ${last} changes`)
  const quotas = { anonymous: QUOTA, free: QUOTA, premium: QUOTA }
  const service = await startSexton({ ...place, apiOnly: true, core: SERVICE_CORE, quotas })
  const port = Number(new URL(service.url).port)
  try {
    await untilServed(service)
    await honest(service.url, 2)
    print(`no replay: ${show(await honest(service.url, values.seconds))}`)
    for (const readers of [1, values.callers]) {
      const input = { port, readers, cursor: first, last, seconds: values.seconds }
      const [replayed, calls] = await Promise.all([
        replay(input),
        honest(service.url, values.seconds - SETTLE_SECONDS),
      ])
      const { megabytes, ended, slowest, seconds } = replayed
      print(
        `${readers} readers: ${show(calls)}; ${ended} at the end after ${seconds.toFixed(1)} s, the last at ${slowest}, ${(megabytes / seconds).toFixed(1)} MB a second, peak of the service ${(await peakMegabytes(service.pid)).toFixed(0)} MB`,
      )
    }
  } finally {
    await service.stop()
  }
} finally {
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

interface Waits {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

function show({ p50Ms, p99Ms, p999Ms }: Waits): string {
  const ms = [p50Ms, p99Ms, p999Ms].map((each) => each.toFixed(1))
  return `honest callers waited p50 ${ms[0]} ms, p99 ${ms[1]} ms, p99.9 ${ms[2]} ms`
}

/** From the moment each call was due. */
async function honest(url: string, seconds: number): Promise<Waits> {
  const load = {
    ...{ url: `${url}/api/burns?limit=10`, perSecond: values.perSecond, seconds },
    connections: 32,
  }
  const { refused, ...waits } = await run([process.execPath, HONEST], load)
  if (refused > 0) print(`${refused} honest calls were refused`)
  return waits
}

/** With low priority, so that honest callers wait for the service and not for the readers. */
function replay(input: ReplayInput): Promise<Replayed> {
  return run(['nice', '-n', '19', process.execPath, READERS], input)
}

// biome-ignore lint/suspicious/noExplicitAny: what the two programs print.
async function run(program: readonly string[], input: object): Promise<any> {
  const command = [String(LOAD_CORE), ...program, JSON.stringify(input)]
  const { stdout, stderr } = await promisify(execFile)('taskset', ['-c', ...command])
  process.stderr.write(stderr)
  return JSON.parse(stdout)
}
