import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { Client } from 'pg'
import { ownServers, startPostgres, type TestPostgres } from '#test/postgres.ts'
import { readNumber } from '#test/program-options.ts'
import { startStandby } from '#test/standby.ts'
import { eventually } from '#test/world.ts'
import { startCluster } from './cluster/cluster.ts'
import { runTruth, type Site } from './truth/run-truth.ts'
import type { AccountsWorld } from './world/accounts-world.ts'

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
    replicas: 3,
    databaseUrl,
    audit: true,
    openSite: (world) => openSite(world, url),
    onProgress({ calls, seconds }) {
      if (Math.round(seconds) % 10 === 0)
        process.stdout.write(`${calls} of ${values.calls} calls in ${seconds.toFixed(0)} s\n`)
    },
  })
  const { violations, compared, failures, answers, deeds } = result
  for (const [what, count] of [...answers, ...deeds].sort())
    process.stdout.write(`${count}\t${what}\n`)
  for (const [what, count] of failures) process.stdout.write(`${count}\tfailed: ${what}\n`)
  process.stdout.write(
    `compared ${compared.bucketDays} identities and days (${compared.exactBucketDays} without lost calls), ` +
      `${compared.wallets} wallets' money, ${compared.usages} usages\n`,
  )
  for (const line of violations) process.stdout.write(`WRONG  ${line}\n`)
  process.stdout.write(violations.length === 0 ? 'Nothing is lost.\n' : 'It differs.\n')
  process.exitCode = violations.length === 0 ? 0 : 1
} finally {
  await standby.stop()
  await primary.stop()
}

async function openSite(world: AccountsWorld, url: string): Promise<Site> {
  const cluster = await startCluster(world, 3)
  return {
    urls: [cluster.front.url],
    pids: () => cluster.replicas.map((each) => each.process().pid),
    gone: new Promise(() => undefined),
    async disturb(signal) {
      await sleep(AFTER_MS, undefined, { signal })
      await killServer(primary)
      const started = performance.now()
      await promote(new URL(standby.url).host, url)
      process.stdout.write(
        `the primary was killed; the standby took writes after ${Math.round(performance.now() - started)} ms\n`,
      )
    },
    reached: () => cluster.front.reached(),
    stop: () => cluster.stop(),
  }
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

async function withClient(url: string, act: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await act(client)
  } finally {
    await client.end()
  }
}
