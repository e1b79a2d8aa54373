import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Command, Option } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import manifest from '../../../package.json' with { type: 'json' }
import type { BenchProcess } from '../bench-process.ts'
import { installPackages } from '../install-packages.ts'
import { median, printTable, reportPromised, say, short } from '../report.ts'
import { CONTESTANTS, type Contestant, type ContestantId, startContestants } from './contestants.ts'
import { type Load, type Measured, measure } from './measure.ts'
import { promisedFigures, type Round } from './must-show.ts'
import { printOpenLoop } from './open-loop.ts'

const ids = Object.keys(CONTESTANTS) as ContestantId[]
const listOf = (text: string) => text.split(',')
const options = new Command('node tools/bench/api/bench.ts')
  .description(
    'How many calls a second Sexton answers and counts, beside servers that count nothing and common limiters.',
  )
  .option('--only <letters>', 'which competitors', listOf, ids)
  .addOption(
    new Option('--callers <kinds>', 'keyed, anonymous')
      .argParser(listOf)
      .default(['keyed', 'anonymous']),
  )
  .option('--connections <counts>', 'keep-alive connections', listOf, ['64', '512'])
  .option('--rounds <count>', 'of all competitors in turns', readNumber, 3)
  .option('--seconds <count>', 'that each is loaded in a round', readNumber, 3)
  .option('--cores <numbers>', 'of the server, the load generator and the databases', listOf, [
    '0',
    '1',
    '2',
  ])
  .option(
    '--open-loop',
    'also at a fixed rate of half and nine tenths of what each answers at most',
  )
  .option('--path <path>', 'what is asked', '/api/burns?period=1d')
  .option('--node-flags <flags>', 'of Sexton’s Node, such as those of the profiler', '')
  .parse()
  .opts<{
    only: readonly string[]
    callers: readonly Load['callers'][]
    connections: readonly string[]
    rounds: number
    seconds: number
    cores: readonly string[]
    openLoop?: true
    path: string
    nodeFlags: string
  }>()

/** Shorter, and a fifth of the processor time of the first rounds is the compiler's. */
const WARM_UP_SECONDS = 10

/** The limiters that Sexton is compared with, on the Fastify that it runs on. */
const RIVALS = [
  `fastify@${manifest.devDependencies.fastify}`,
  '@fastify/rate-limit@11.2.0',
  'ioredis@6.0.0',
  'pg@8.23.1',
  'rate-limiter-flexible@11.4.0',
]

const [server = 0, generator = 1, database = 2] = options.cores.map(Number)
const folder = await mkdtemp(join(tmpdir(), 'sexton-bench-api-'))
const running: BenchProcess[] = []
// This process waits, and the databases that it starts stay on its core.
await promisify(execFile)('taskset', ['-a', '-c', '-p', String(database), String(process.pid)])
const postgres = await startPostgres({ durable: true })
try {
  const rivals = await installPackages('api', RIVALS)
  await cp(join(import.meta.dirname, 'rivals'), rivals, { recursive: true })
  const contestants = await startContestants(
    {
      ...{ folder, rivals, postgres, core: server, path: options.path },
      ids: ids.filter((id) => options.only.includes(id)),
      nodeFlags: options.nodeFlags.split(' ').filter(Boolean),
    },
    (each) => running.push(each),
  )
  const rounds = await measureRounds(contestants)
  printRounds(rounds)
  if (options.openLoop) await printOpenLoop(contestants, rounds, { ...options, core: generator })
  const sharesCores = database === server || database === generator
  process.exitCode = reportPromised(promisedFigures(rounds, sharesCores)) ? 0 : 1
} finally {
  for (const each of running.toReversed()) await each.stop()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** The competitors by turns and every second time backwards, so that a slow moment of the machine hits all. */
async function measureRounds(contestants: readonly Contestant[]): Promise<readonly Round[]> {
  const common = { path: options.path, core: generator, seconds: options.seconds }
  const warmUp = { ...common, callers: 'keyed', connections: 64, seconds: WARM_UP_SECONDS } as const
  for (const each of contestants) await measure(each, warmUp)
  const rounds: Round[] = []
  for (let round = 0; round < options.rounds; round += 1)
    for (const callers of options.callers)
      for (const connections of options.connections.map(Number)) {
        const measured = new Map<ContestantId, Measured>()
        for (const each of round % 2 === 0 ? contestants : contestants.toReversed()) {
          if (each.id === 'g' && callers === 'anonymous') continue
          const found = await measure(each, { ...common, callers, connections })
          await each.settle?.()
          measured.set(each.id, found)
          say(`${each.id} ${callers} ${connections}: ${short(found.requestsPerSecond)}/s`)
        }
        rounds.push({ callers, connections, measured })
      }
  return rounds
}

/** Medians of the rounds. */
function printRounds(rounds: readonly Round[]): void {
  const groups = Map.groupBy(rounds, (each) => `${each.callers}, ${each.connections} connections`)
  const head = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU us', 'peak MB', 'load']
  for (const [name, group] of groups) {
    const rows = ids.flatMap((id) => {
      const list = group.flatMap(({ measured }) => measured.get(id) ?? [])
      if (list.length === 0) return []
      const of = (read: (each: Measured) => number) => short(median(list.map(read)))
      const latency = [of((each) => each.p50Ms), of((each) => each.p99Ms)]
      const use = [of((each) => each.cpuMicroseconds), of((each) => each.peakMegabytes)]
      const rates = [of((each) => each.requestsPerSecond), ...latency]
      return [[`${id} ${CONTESTANTS[id]}`, ...rates, ...use, of((each) => each.loadShare)]]
    })
    process.stdout.write(`${name}\n`)
    printTable(head, rows)
  }
}
