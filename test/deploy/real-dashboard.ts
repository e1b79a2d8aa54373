import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '#lib/free-port.ts'
import { startPostgres } from '../postgres.ts'
import { FULL_HISTORY_DAYS } from '../start-own-devnet.ts'
import { eventually } from '../world.ts'
import { startX402World, type X402World } from '../x402/x402-world.ts'
import { findDeployPrograms } from './programs.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const postgres = await startPostgres()
after(() => postgres.stop())

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const { panels }: { readonly panels: readonly Panel[] } = JSON.parse(
  readFileSync(join(DEPLOY, 'grafana/sexton.json'), 'utf8'),
)

describe('a real Prometheus that scrapes a real service on PostgreSQL', () => {
  let world: X402World
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>
  before(async () => {
    world = await startX402World({
      historyDays: FULL_HISTORY_DAYS,
      databaseUrl: await postgres.createDatabase(),
      environment: { SEXTON_METRICS_PORT: '0' },
    })
    prometheus = await startPrometheus(world.service.served.metricsPort ?? 0)
  })
  after(async () => {
    await prometheus.stop()
    await world.stop()
  })

  /** Some traffic, so that rates have something to show. */
  const call = async () => {
    for (const path of ['/api/burns/total', '/api/meta', '/nowhere'])
      await (await fetch(world.origin + path)).arrayBuffer()
  }

  for (const { title, targets = [] } of panels)
    for (const { expr } of targets)
      test(`the panel "${title}" has a result for ${expr}`, async () => {
        const query = expr.replaceAll('$job', 'sexton.*').replaceAll('$__rate_interval', '10s')
        await eventually(async () => {
          await call()
          const result = await prometheus.ask(`query?query=${encodeURIComponent(query)}`)
          assert.equal(result.status, 'success', JSON.stringify(result))
          return (result.data.result?.length ?? 0) > 0 || undefined
        }, 60_000)
      })

  test('every alarm can be evaluated, and none of those that fire at once does', async () => {
    const { data } = await prometheus.ask('rules')
    const rules = data.groups?.[0]?.rules ?? []
    assert.ok(rules.length > 10)
    assert.deepEqual(
      rules.filter(({ health }) => health !== 'ok').map(({ name }) => name),
      [],
    )
    const firing = rules.filter(({ state }) => state === 'firing')
    assert.deepEqual(
      firing.map(({ name }) => name),
      [],
    )
  })
})

/** With the files of `deploy/`, but for its targets and how often it looks. */
async function startPrometheus(target: number) {
  const { prometheus } = await findDeployPrograms()
  const folder = mkdtempSync(join(tmpdir(), 'sexton-prometheus-'))
  cpSync(join(DEPLOY, 'prometheus'), folder, { recursive: true })
  const file = join(folder, 'prometheus.yml')
  const text = readFileSync(file, 'utf8').replaceAll(/127\.0\.0\.1:\d+/g, `127.0.0.1:${target}`)
  writeFileSync(file, text.replaceAll(': 15s', ': 1s'))
  const port = await freePort(0)
  const child = spawn(
    prometheus,
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const exit = once(child, 'exit')
  const origin = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    )
  await eventually(isReady, 30_000)
  return {
    ask: async (path: string) =>
      asPrometheusAnswer(await (await fetch(`${origin}/api/v1/${path}`)).text()),
    async stop() {
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface PrometheusAnswer {
  readonly status: string
  readonly data: {
    readonly result?: readonly unknown[]
    readonly groups?: readonly {
      readonly rules: readonly {
        readonly name: string
        readonly health: string
        readonly state: string
      }[]
    }[]
  }
}

function asPrometheusAnswer(text: string): PrometheusAnswer {
  return JSON.parse(text)
}
