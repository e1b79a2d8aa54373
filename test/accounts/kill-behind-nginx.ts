import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { chanceOf } from '#test/simulation/chance.ts'
import { openClusterSite, printCounts, printProgress, report } from './cluster/cluster-site.ts'
import { type Deaths, killAround } from './cluster/deaths.ts'
import { runTruth } from './truth/run-truth.ts'

interface Options {
  readonly calls: number
  readonly lines: number
  readonly replicas: number
  readonly seed: string
  readonly leadersOnly?: true
}

const values = new Command('node test/accounts/kill-behind-nginx.ts')
  .description(
    'The hostile load of main.ts on processes behind nginx, while one is killed every second, a leader killed or frozen every 20 s, and PostgreSQL crashed every minute. Ends with 1 when anything differs.',
  )
  .option('--calls <count>', 'how many', readNumber, 1_000_000)
  .option('--lines <count>', 'connections of callers', readNumber, 16)
  .option('--replicas <count>', 'processes, each of which can lead', readNumber, 3)
  .option('--leaders-only', 'spare other replicas, and PostgreSQL')
  .option('--seed <seed>', 'of what the callers do', '1')
  .parse()
  .opts<Options>()

// Each process is killed with this one.
process.setMaxListeners(0)
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.on('SIGINT', () => process.exit(1))

let deaths: Deaths = { counts: new Map(), standstillMs: 0 }
const postgres = await startPostgres({ durable: true, own: true })
try {
  const databaseUrl = await postgres.createDatabase()
  const chance = chanceOf(values.seed).apart('deaths')
  const result = await runTruth({
    calls: values.calls,
    lines: values.lines,
    replicas: values.replicas,
    databaseUrl,
    seed: values.seed,
    audit: true,
    stop: stop.signal,
    openSite: (world) =>
      openClusterSite(world, values.replicas, async (cluster, signal) => {
        deaths = await killAround(
          {
            cluster,
            databaseUrl,
            chance,
            mine: world.mine,
            leadersOnly: values.leadersOnly === true,
          },
          signal,
        )
      }),
    onProgress: printProgress(values.calls),
  })
  printCounts('', deaths.counts)
  process.stdout.write(
    `after its leader ended, the index stood still for ${Math.round(deaths.standstillMs)} ms at most\n`,
  )
  process.exitCode = report(result, values.lines)
} finally {
  await postgres.stop()
}
