import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '#lib/free-port.ts'
import { sleep } from '#lib/sleep.ts'
import { type AccountsWorld, startAccountsWorld } from '../accounts/world/accounts-world.ts'
import type { RoleProcess } from '../accounts/world/role-process.ts'
import { startPostgres } from '../postgres.ts'
import { eventually } from '../world.ts'
import { findDeployPrograms, findHaproxy } from './programs.ts'
import { nginxMain } from './proxy-configurations.ts'
import { type RollingLoad, rollingLoad } from './rolling-load.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

const QUOTA = 10_000_000
const REPLICAS = 3
const DRAIN_SECONDS = 2
/** nginx leaves a replica that refused a connection alone for ten seconds. */
const PAUSE_MS = { nginx: 11_000, caddy: 2_000, haproxy: 2_000 }

interface Place {
  readonly folder: string
  readonly port: number
  readonly upstreams: readonly number[]
}

/** As little as each proxy takes: what is not written is its default. */
const PROXIES = {
  nginx: async ({ folder, port, upstreams }: Place) => {
    const file = join(folder, 'nginx.conf')
    const servers = upstreams.map((each) => `server 127.0.0.1:${each};`).join(' ')
    const site = `access_log off;
upstream sexton { ${servers} }
server { listen 127.0.0.1:${port}; location / { proxy_pass http://sexton; } }`
    writeFileSync(file, nginxMain(folder, site))
    const { nginx } = await findDeployPrograms()
    return { program: nginx, parameters: ['-p', folder, '-c', file], environment: {} }
  },
  caddy: async ({ folder, port, upstreams }: Place) => {
    const file = join(folder, 'Caddyfile')
    writeFileSync(
      file,
      `{
	admin off
	auto_https off
}
http://127.0.0.1:${port} {
	reverse_proxy ${upstreams.map((each) => `127.0.0.1:${each}`).join(' ')} {
		health_uri /readyz
		health_interval 500ms
	}
}
`,
    )
    const { caddy } = await findDeployPrograms()
    const parameters = ['run', '--config', file, '--adapter', 'caddyfile']
    return { program: caddy, parameters, environment: { HOME: folder } }
  },
  haproxy: async ({ folder, port, upstreams }: Place) => {
    const file = join(folder, 'haproxy.cfg')
    const servers = upstreams.map((each) => `  server s${each} 127.0.0.1:${each} check inter 500ms`)
    writeFileSync(
      file,
      `defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
listen sexton
  bind 127.0.0.1:${port}
  option httpchk GET /readyz
  http-check send hdr Host localhost
${servers.join('\n')}
`,
    )
    const { program, environment } = await findHaproxy()
    return { program, parameters: ['-db', '-f', file], environment }
  },
} as const

for (const name of ['nginx', 'caddy', 'haproxy'] as const)
  describe(`${name} in front of ${REPLICAS} replicas`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sexton-rolling-'))
    let world: AccountsWorld
    let replicas: readonly Replica[]
    let front: Front

    before(async () => {
      const quotas = { anonymous: QUOTA, free: QUOTA, premium: QUOTA }
      world = await startAccountsWorld({ databaseUrl: await postgres.createDatabase(), quotas })
      replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startReplica(world)))
      front = await startFront(name, folder, replicas)
    })
    after(async () => {
      await front.stop()
      await world.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    test('a rolling restart fails no GET and no POST', async () => {
      const isOver = { value: false }
      const calling = front.load.run(isOver)
      for (const replica of replicas) {
        await replica.restart()
        await sleep(PAUSE_MS[name])
      }
      isOver.value = true
      const outcomes = await calling
      process.stdout.write(`# ${name}: ${JSON.stringify(Object.fromEntries(outcomes))}\n`)
      assert.deepEqual([...outcomes.keys()].sort(), ['GET 200', 'POST 202'], front.words())
    })
  })

interface Replica {
  readonly port: number
  /** SIGTERM, and a new process on the same port. */
  restart(): Promise<void>
}

async function startReplica(world: AccountsWorld): Promise<Replica> {
  const port = await freePort(0)
  const environment = {
    PORT: String(port),
    SEXTON_DRAIN_SECONDS: String(DRAIN_SECONDS),
    SEXTON_TRUSTED_PROXIES: '127.0.0.1',
  }
  const start = async (): Promise<RoleProcess> => {
    const started = await world.start('start', { environment })
    await eventually(
      () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok || undefined,
          () => undefined,
        ),
      60_000,
    )
    return started
  }
  let running = await start()
  return {
    port,
    async restart() {
      await running.stop()
      running = await start()
    },
  }
}

interface Front {
  readonly load: RollingLoad
  /** What it said, newest last. */
  words(): string
  stop(): Promise<void>
}

async function startFront(
  name: keyof typeof PROXIES,
  folder: string,
  replicas: readonly Replica[],
): Promise<Front> {
  const port = await freePort(0)
  const upstreams = replicas.map((each) => each.port)
  const { program, parameters, environment } = await PROXIES[name]({ folder, port, upstreams })
  const env = { PATH: process.env.PATH, ...environment }
  const child = spawn(program, parameters, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-8_000)
  })
  const exit = once(child, 'exit')
  const load = rollingLoad(port)
  await eventually(
    async () => ((await load.ask('GET')) === '200' ? true : undefined),
    20_000,
  ).catch((cause: unknown) => {
    throw new Error(`${name} does not pass calls on: ${said}`, { cause })
  })
  return {
    load,
    words: () => said,
    async stop() {
      load.close()
      child.kill('SIGTERM')
      await exit
    },
  }
}
