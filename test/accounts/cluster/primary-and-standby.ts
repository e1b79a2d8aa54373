import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { ownServers, startPostgres } from '#test/postgres.ts'
import { startStandby } from '#test/standby.ts'
import { openWay } from '#test/way-to-server.ts'
import { withClient } from '#test/with-client.ts'

/** A primary that keeps what it acknowledged, and the standby that follows it. */
export interface PrimaryAndStandby {
  /** Of a new database, at the primary. */
  readonly url: string
  /** The same at a proxy that leads to the primary, and to the standby once that is promoted. */
  readonly databaseUrl: string
  /** Kills the primary with all of its processes, as a machine that is gone. */
  killPrimary(): Promise<void>
  /** Resolves when the standby takes writes. */
  promote(): Promise<void>
  stop(): Promise<void>
}

export async function startPrimaryAndStandby(): Promise<PrimaryAndStandby> {
  const primary = await startPostgres({ durable: true, own: true })
  const standby = await startStandby(primary)
  const url = await primary.createDatabase()
  const standbyUrl = url.replace(new URL(url).host, new URL(standby.url).host)
  const way = await openWay(url)
  return {
    url,
    databaseUrl: way.url,
    async killPrimary() {
      const place = ownServers.get(primary)
      if (place === undefined) throw new Error('only a server of this process can be killed')
      const [pid] = (await readFile(join(place.data, 'postmaster.pid'), 'utf8')).split('\n')
      kill(-Number(pid), 'SIGKILL')
    },
    async promote() {
      await withClient(standbyUrl, async (client) => {
        await client.query('select pg_promote()')
        await client.query('create table accounts.promoted (id bigint)')
        await client.query('drop table accounts.promoted')
      })
      way.leadTo(standbyUrl)
    },
    async stop() {
      way.become('refused')
      await way.close()
      await standby.stop()
      await primary.stop()
    },
  }
}
