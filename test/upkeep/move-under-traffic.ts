import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '#lib/free-port.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { benchEcosystem } from '#tools/bench/index/bench-ecosystem.ts'
import { startChainServer } from '#tools/bench/index/chain-server.ts'
import { type RoleProcess, startRole } from '../accounts/world/role-process.ts'
import { runSexton } from './mover.ts'
import { type SeededAccounts, type SeededKey, seedAccounts } from './seed-accounts.ts'
import { startTraffic, type TrafficFigures } from './traffic.ts'

export interface MoveTrial {
  readonly databaseUrl: string
  readonly seeded: SeededAccounts
  /** Of the synthetic chain. */
  readonly logs: number
  readonly connections: number
  readonly pauseMs: number
  /** Of traffic before and after the move. */
  readonly calmMs: number
  note(line: string): void
}

export interface MoveOutcome {
  readonly traffic: TrafficFigures
  /** What the move reported. */
  // biome-ignore lint/suspicious/noExplicitAny: its JSON is shown and looked into.
  readonly moved: any
  /** Of the whole command. */
  readonly moveMs: number
  /** Exit codes of `sexton audit` on the old and the new side. */
  readonly audits: readonly (number | null)[]
  /** Keys whose calls were counted more or fewer times than they were answered, in words. */
  readonly miscounted: readonly string[]
}

/** Callers keep calling an installation while it moves to PostgreSQL, and go on at the new one. */
export async function moveUnderTraffic(trial: MoveTrial): Promise<MoveOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-moving-'))
  const chain = await startChainServer({ logs: trial.logs })
  const running: RoleProcess[] = []
  try {
    return await run(trial, folder, chain.url, running)
  } finally {
    for (const each of running) await each.kill()
    await chain.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(
  trial: MoveTrial,
  folder: string,
  rpcUrl: string,
  running: RoleProcess[],
): Promise<MoveOutcome> {
  const { databaseUrl, note } = trial
  const data = join(folder, 'data')
  const ecosystem = join(folder, 'ecosystem.json')
  await mkdir(data)
  // The synthetic chain cannot say what the payment wallet holds.
  const { payment: _, ...file } = benchEcosystem([rpcUrl])
  await writeFile(ecosystem, JSON.stringify(file))
  const keys = await seed(data, trial.seeded)
  const [oldPort, newPort] = [await freePort(0), await freePort(0)]
  const environment = {
    SEXTON_DATA: data,
    SEXTON_ECOSYSTEM: ecosystem,
    SEXTON_METRICS_PORT: 'off',
    SEXTON_GUARD_BURST: '10000000',
    SEXTON_GUARD_PER_MINUTE: '10000000',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
  }
  const start = (role: 'start' | 'serve' | 'index' | 'verify', port: number, more = {}) => {
    const started = startRole({ role, port, environment: { ...environment, ...more } })
    running.push(started)
    return started
  }
  const old = start('start', oldPort)
  await old.ready()
  await untilWhole(old.url)
  note('the old service has read the whole history')
  const before = await runSexton(['audit'], environment)
  note(`audit of the old side: exit ${before.code}`)
  let url = old.url
  const traffic = startTraffic({
    ...trial,
    secrets: keys.map(({ secret }) => secret),
    path: '/api/burns/total',
    url: () => url,
  })
  await sleep(trial.calmMs)
  const startedMs = performance.now()
  const move = await runSexton(['move', '--to', databaseUrl, '--json'], environment)
  const moveMs = performance.now() - startedMs
  note(`move: exit ${move.code} ${move.stderr}`)
  if (move.code !== 0) throw new Error(`${move.stdout}${move.stderr}`)
  const there = { SEXTON_DATABASE_URL: databaseUrl }
  const next = start('serve', newPort, there)
  await next.ready()
  url = next.url
  await old.stop()
  const others = [start('index', 0, there), start('verify', 0, there)]
  await sleep(trial.calmMs)
  const figures = await traffic.stop()
  const after = await runSexton(['audit'], { ...environment, ...there })
  note(
    `audit of the new side: exit ${after.code} ${after.code === 0 ? '' : after.stdout + after.stderr}`,
  )
  for (const each of [next, ...others]) await each.stop()
  return {
    traffic: figures,
    moved: JSON.parse(move.stdout),
    moveMs,
    audits: [before.code, after.code],
    miscounted: await compareCounts(databaseUrl, keys, figures),
  }
}

async function seed(data: string, seeded: SeededAccounts): Promise<readonly SeededKey[]> {
  const accounts = await openStore(data, 'accounts', { kind: 'sqlite' })
  try {
    await migrateStore(accounts, 'accounts')
    return await seedAccounts(accounts, seeded)
  } finally {
    await accounts.close()
  }
}

async function untilWhole(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/api/stats`)
    const { meta } = (await answer.json()) as {
      meta: { chains: readonly { readonly gap: unknown }[] }
    }
    if (meta.chains.every(({ gap }) => gap === null)) return
    await sleep(100)
  }
}

async function compareCounts(
  databaseUrl: string,
  keys: readonly SeededKey[],
  { answered, broken }: TrafficFigures,
): Promise<readonly string[]> {
  const accounts = openPostgres({ url: databaseUrl, schema: 'accounts' })
  try {
    const found = await accounts.read(sql`
      select bucket, used + paid as calls from usage_days
      where day = (select max(day) from usage_days)`)
    const counted = new Map(
      found.map((row) => [column.text(row, 'bucket'), column.integer(row, 'calls')]),
    )
    return keys.flatMap(({ wallet, secret }) => {
      const calls = counted.get(`wallet:${wallet}`) ?? 0
      const least = answered.get(secret) ?? 0
      const most = least + (broken.get(secret) ?? 0)
      return calls >= least && calls <= most ? [] : [`${wallet}: ${calls}, answered ${least}`]
    })
  } finally {
    await accounts.close()
  }
}
