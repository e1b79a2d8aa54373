import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { readNumber } from '#test/program-options.ts'
import { withClient } from '#test/with-client.ts'
import { eventually } from '#test/world.ts'
import { openClusterSite, printProgress, report } from './cluster/cluster-site.ts'
import { startPrimaryAndStandby } from './cluster/primary-and-standby.ts'
import { runTruth } from './truth/run-truth.ts'

interface Options {
  readonly calls: number
  readonly lines: number
  readonly seed: string
}

const values = new Command('node test/accounts/fail-over.ts')
  .description(
    'The hostile load of main.ts on three replicas whose primary is killed after some seconds and whose synchronous standby is promoted, as docs/operating/failover.md says. Ends with 1 when a call, a key or a revocation that was acknowledged is lost.',
  )
  .option('--calls <count>', 'how many', readNumber, 60_000)
  .option('--lines <count>', 'connections of callers', readNumber, 16)
  .option('--seed <seed>', 'of what the callers do', '1')
  .parse()
  .opts<Options>()

/** Each process is killed with this one. */
process.setMaxListeners(0)
const AFTER_MS = 10_000
const REPLICAS = 3

const servers = await startPrimaryAndStandby()
try {
  await waitForStandby(servers.url)
  const result = await runTruth({
    ...values,
    replicas: REPLICAS,
    databaseUrl: servers.databaseUrl,
    audit: true,
    openSite: (world) => openClusterSite(world, REPLICAS, (_, signal) => failOver(signal)),
    onProgress: printProgress(values.calls),
  })
  process.exitCode = report(result, values.lines)
} finally {
  await servers.stop()
}

async function failOver(signal: AbortSignal): Promise<void> {
  await sleep(AFTER_MS, undefined, { signal })
  await servers.killPrimary()
  const started = performance.now()
  await servers.promote()
  const tookMs = Math.round(performance.now() - started)
  process.stdout.write(`the primary was killed; the standby took writes after ${tookMs} ms\n`)
}

/** Every commit waits for it from here on. */
async function waitForStandby(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '*'`)
    await client.query('select pg_reload_conf()')
    await eventually(async () => {
      const { rows } = await client.query('select sync_state from pg_stat_replication')
      return rows[0]?.sync_state === 'sync' || undefined
    }, 20_000)
  })
}
