import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { ownServers, startPostgres, type TestPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { startStandby } from '#test/standby.ts'
import { withClient } from '#test/with-client.ts'
import { eventually } from '#test/world.ts'
import { openClusterSite, printProgress, report } from './cluster/cluster-site.ts'
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

const primary = await startPostgres({ durable: true, own: true })
const standby = await startStandby(primary)
try {
  const url = await primary.createDatabase()
  const databaseUrl = url.replace(
    new URL(url).host,
    `${new URL(url).host},${new URL(standby.url).host}`,
  )
  await waitForStandby(url)
  const result = await runTruth({
    ...values,
    replicas: REPLICAS,
    databaseUrl,
    audit: true,
    openSite: (world) => openClusterSite(world, REPLICAS, (_, signal) => failOver(url, signal)),
    onProgress: printProgress(values.calls),
  })
  process.exitCode = report(result, values.lines)
} finally {
  await standby.stop()
  await primary.stop()
}

async function failOver(url: string, signal: AbortSignal): Promise<void> {
  await sleep(AFTER_MS, undefined, { signal })
  await killServer(primary)
  const started = performance.now()
  await promote(new URL(standby.url).host, url)
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

/** With all of its processes, as a machine that is gone. */
async function killServer(server: TestPostgres): Promise<void> {
  const place = ownServers.get(server)
  if (place === undefined) throw new Error('only a server of this process can be killed')
  const [pid] = (await readFile(join(place.data, 'postmaster.pid'), 'utf8')).split('\n')
  kill(-Number(pid), 'SIGKILL')
}

async function promote(host: string, url: string): Promise<void> {
  await withClient(url.replace(new URL(url).host, host), async (client) => {
    await client.query('select pg_promote()')
    await client.query('create table accounts.promoted (id bigint)')
    await client.query('drop table accounts.promoted')
  })
}
