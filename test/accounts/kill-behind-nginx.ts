import { Command } from 'commander'
import { startPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { chanceOf } from '#test/simulation/chance.ts'
import { startCluster } from './cluster/cluster.ts'
import { type DeathCounts, killAround } from './cluster/deaths.ts'
import { runTruth, type Site } from './truth/run-truth.ts'
import type { AccountsWorld } from './world/accounts-world.ts'

interface Options {
  readonly calls: number
  readonly lines: number
  readonly replicas: number
  readonly seed: string
}

const values = new Command('node test/accounts/kill-behind-nginx.ts')
  .description(
    'The hostile load of main.ts on replicas behind nginx, two indexers and two verifiers, while a replica is killed every second, a leader killed or frozen every 20 s, and PostgreSQL crashed every minute. Ends with 1 when anything differs.',
  )
  .option('--calls <count>', 'how many', readNumber, 1_000_000)
  .option('--lines <count>', 'connections of callers', readNumber, 16)
  .option('--replicas <count>', 'processes of the API', readNumber, 3)
  .option('--seed <seed>', 'of what the callers do', '1')
  .parse()
  .opts<Options>()

// Each process is killed with this one.
process.setMaxListeners(0)
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.on('SIGINT', () => process.exit(1))

let deaths: DeathCounts = new Map()
const postgres = await startPostgres({ durable: true, own: true })
try {
  const databaseUrl = await postgres.createDatabase()
  const result = await runTruth({
    calls: values.calls,
    lines: values.lines,
    replicas: values.replicas,
    databaseUrl,
    seed: values.seed,
    audit: true,
    stop: stop.signal,
    openSite: (world) => openSite(world, databaseUrl),
    onProgress({ calls, seconds }) {
      if (Math.round(seconds) % 10 === 0)
        process.stdout.write(`${calls} of ${values.calls} calls in ${seconds.toFixed(0)} s\n`)
    },
  })
  show('', result.answers)
  show("owner's ", result.deeds)
  show('', deaths)
  show('failed: ', result.failures)
  const { violations, compared, lost, calls, seconds, tookMs } = result
  process.stdout.write(
    `p50 ${tookMs(0.5)} ms, p99 ${tookMs(0.99)} ms, p99.9 ${tookMs(0.999)} ms of answers on ${values.lines} connections\n` +
      `up to ${lost} metered calls more than were answered may be counted\n` +
      `compared ${compared.bucketDays} identities and days (${compared.exactBucketDays} without lost calls), ` +
      `${compared.wallets} wallets' money, ${compared.usages} usages; ${calls} calls, ${Math.round(calls / seconds)} a second\n`,
  )
  for (const line of violations) process.stdout.write(`WRONG  ${line}\n`)
  process.stdout.write(violations.length === 0 ? 'Nothing differs.\n' : 'It differs.\n')
  process.exitCode = violations.length === 0 ? 0 : 1
} finally {
  await postgres.stop()
}

async function openSite(world: AccountsWorld, databaseUrl: string): Promise<Site> {
  const cluster = await startCluster(world, values.replicas)
  const chance = chanceOf(values.seed).apart('deaths')
  return {
    urls: [cluster.front.url],
    pids: () => cluster.replicas.map((each) => each.process().pid),
    gone: new Promise(() => undefined),
    async disturb(signal) {
      deaths = await killAround({ cluster, databaseUrl, chance }, signal)
    },
    reached: () => cluster.front.reached(),
    stop: () => cluster.stop(),
  }
}

function show(what: string, counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of [...counts].sort()) process.stdout.write(`${count}\t${what}${name}\n`)
}
