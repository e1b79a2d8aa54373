import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '#lib/free-port.ts'
import { type AccountsWorld, startAccountsWorld } from '../accounts/world/accounts-world.ts'
import type { RoleProcess } from '../accounts/world/role-process.ts'
import { startPostgres } from '../postgres.ts'
import { eventually } from '../world.ts'
import { findDeployPrograms } from './programs.ts'
import {
  type Certificate,
  caddyConfiguration,
  makeCertificate,
  nginxConfiguration,
} from './proxy-configurations.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

const QUOTA = 10_000_000
const CLIENTS = 8

for (const proxy of ['nginx', 'caddy'] as const)
  describe(`${proxy} in front of two replicas`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sexton-proxy-'))
    let world: AccountsWorld
    let replicas: [Replica, Replica]
    let front: Awaited<ReturnType<typeof startProxy>>

    /** Calls of this machine's address. */
    const countedCalls = async (): Promise<number> =>
      JSON.parse((await front.ask('/api/usage', { headers: {} })).body).requestCount

    before(async () => {
      const quotas = { anonymous: QUOTA, free: QUOTA, premium: QUOTA }
      const databaseUrl = await postgres.createDatabase()
      world = await startAccountsWorld({ databaseUrl, quotas })
      replicas = [await startReplica(world), await startReplica(world)]
      const certificate = await makeCertificate(folder)
      const upstreams = [replicas[0].port, replicas[1].port] as const
      front = await startProxy(proxy, { folder, certificate, upstreams: [...upstreams] })
    })
    after(async () => {
      await front.stop()
      await world.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    test("counts a caller under its own address, whatever it claims, and passes on the service's own 413", async () => {
      const answer = await front.ask('/api/burns/total', {
        headers: { 'x-forwarded-for': '203.0.113.9' },
      })
      assert.equal(answer.status, 200)
      assert.equal(await countedCalls(), 1)
      const body = JSON.stringify({ text: 'a'.repeat(9_000) })
      const headers = { 'content-type': 'application/json' }
      const long = await front.ask('/api/keys', { method: 'POST', headers, body })
      assert.equal(long.status, 413)
      assert.match(long.body, /payload_too_large/)
    })

    test('a rolling restart under load fails no GET, and counts none twice', async () => {
      const outcomes = new Map<string, number>()
      const isOver = { value: false }
      const before = await countedCalls()
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (!isOver.value) {
          const outcome = await front.ask('/api/burns/total', { headers: {} }).then(
            ({ status }) => String(status),
            (error: Error) => error.message,
          )
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
      })
      const answered = () => outcomes.get('200') ?? 0
      const moreCalls = async () => {
        const enough = answered() + 200
        await eventually(async () => answered() > enough || undefined, 20_000)
      }
      await moreCalls()
      for (const replica of replicas) await replica.restart()
      await moreCalls()
      isOver.value = true
      await Promise.all(clients)
      process.stdout.write(`# ${proxy}: ${JSON.stringify(Object.fromEntries(outcomes))}\n`)
      assert.deepEqual([...outcomes.keys()], ['200'])
      assert.equal((await countedCalls()) - before, answered())
    })
  })

interface Replica {
  readonly port: number
  /** SIGTERM, and a new process on the same port. */
  restart(): Promise<void>
}

async function startReplica(world: AccountsWorld): Promise<Replica> {
  const port = await freePort(0)
  const start = async (): Promise<RoleProcess> => {
    const environment = {
      PORT: String(port),
      SEXTON_TRUSTED_PROXIES: '127.0.0.1',
    }
    const started = await world.start('start', { environment })
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      )
    await eventually(isReady, 60_000)
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

interface Ask {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

async function startProxy(
  proxy: 'nginx' | 'caddy',
  places: {
    readonly folder: string
    readonly certificate: Certificate
    readonly upstreams: readonly number[]
  },
) {
  const programs = await findDeployPrograms()
  const {
    folder,
    certificate,
    upstreams: [first = 0, second = 0],
  } = places
  const port = await freePort(0)
  const file = join(folder, proxy)
  const input = { folder, certificate, port, upstreams: [first, second] as const }
  const text = await (proxy === 'nginx' ? nginxConfiguration(input) : caddyConfiguration(input))
  writeFileSync(file, text)
  const parameters =
    proxy === 'nginx'
      ? ['-p', folder, '-c', file]
      : ['run', '--config', file, '--adapter', 'caddyfile']
  const child = spawn(programs[proxy], parameters, {
    env: {
      ...process.env,
      HOME: folder,
      SEXTON_UPSTREAMS: `127.0.0.1:${first} 127.0.0.1:${second}`,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.resume()
  const exit = once(child, 'exit')
  const agent = new Agent({ keepAlive: true, ca: readFileSync(certificate.certificate) })
  const ask = (path: string, { method = 'GET', headers, body = '' }: Ask) =>
    askOver(agent, { port, path, method, headers, body })
  await eventually(() => ask('/healthz', { headers: {} }).catch(() => undefined), 20_000)
  return {
    ask,
    async stop() {
      agent.destroy()
      child.kill('SIGTERM')
      await exit
    },
  }
}

function askOver(
  agent: Agent,
  { body, ...target }: Required<Ask> & { readonly port: number; readonly path: string },
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number
    readonly body: string
  }>()
  const asking = request({ ...target, host: 'localhost', agent }, (answer) => {
    let text = ''
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: text }))
    answer.once('error', reject)
  })
  asking.once('error', reject).end(body)
  return promise
}
