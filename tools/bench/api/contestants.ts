import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import { column, sql } from '#db/sql.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { findDebianProgram } from '#test/debian-program.ts'
import type { TestPostgres } from '#test/postgres.ts'
import { withClient } from '#test/with-client.ts'
import { type BenchProcess, startProcess } from '../bench-process.ts'
import { seedAccounts } from '../seed-accounts.ts'
import { makeRegister, type SextonPlace, startSexton, untilServed } from '../start-sexton.ts'

/** What can be measured, in the order of a round: those that are compared stand side by side. */
export const CONTESTANTS = {
  b: 'bare Fastify',
  e: '@fastify/rate-limit, memory',
  c: 'Sexton, SQLite',
  g: 'Sexton, SQLite, paid calls',
  e2: '@fastify/rate-limit, Redis',
  e3: '@fastify/rate-limit, Redis, appendfsync always',
  f: 'rate-limiter-flexible, PostgreSQL',
  d: 'Sexton, PostgreSQL',
} as const

export type ContestantId = keyof typeof CONTESTANTS

/** One competitor, running and ready to be asked. */
export interface Contestant {
  readonly id: ContestantId
  readonly server: BenchProcess
  /** Secrets that it knows; rivals take any. */
  readonly secretsFile: string
  /** Calls that were counted so far, and transactions that counted them. */
  counted?(): Promise<number>
  /** Lets the database finish what the load left it to do, so that nobody else is measured beside it. */
  settle?(): Promise<void>
}

export interface StartInput {
  readonly folder: string
  /** Of the servers. */
  readonly core: number
  readonly ids: readonly ContestantId[]
  readonly path: string
  /** The rivals' packages. */
  readonly rivals: string
  readonly postgres: TestPostgres
  readonly nodeFlags: readonly string[]
}

/** Nobody runs out of these, so that every call is free. */
const PLENTY = { anonymous: 1_000_000_000, free: 1_000_000_000, premium: 1_000_000_000 }
/** The first call of a wallet's day is free, all others are paid. */
const ONE = { anonymous: 1, free: 1, premium: 1 }

/** With money for ten million calls each. */
const SEED = { keys: 100, freeDays: 0, paidDays: 0, microUsd: 1_000_000_000n }

/** Starts all that are asked for, each with its own data. */
export async function startContestants(
  input: StartInput,
  started: (server: BenchProcess) => void,
): Promise<readonly Contestant[]> {
  const sqlite = { folder: join(input.folder, 'c') }
  await makeRegister(sqlite)
  const paid = { folder: join(input.folder, 'g') }
  await cp(sqlite.folder, paid.folder, { recursive: true })
  const first = await startOurs(input, { id: 'c', place: sqlite }, started)
  const answer = JSON.stringify(await sampleAnswer(first.server.url + input.path))
  const running: Contestant[] = []
  for (const id of input.ids) {
    if (id === 'c') running.push(first)
    else if (id === 'g') running.push(await startOurs(input, { id, place: paid }, started))
    else if (id === 'd') running.push(await startOnPostgres(input, started))
    else running.push(await startRival(input, { ...first, id }, { answer, started }))
  }
  return running
}

async function startOnPostgres(
  input: StartInput,
  started: (server: BenchProcess) => void,
): Promise<Contestant> {
  const databaseUrl = await input.postgres.createDatabase()
  const place = { folder: join(input.folder, 'd'), databaseUrl }
  await makeRegister(place)
  const ours = await startOurs(input, { id: 'd', place }, started)
  return { ...ours, settle: () => checkpoint(databaseUrl) }
}

async function startOurs(
  { core, nodeFlags }: StartInput,
  { id, place }: { readonly id: 'c' | 'd' | 'g'; readonly place: SextonPlace },
  started: (server: BenchProcess) => void,
): Promise<Contestant> {
  const keys = await withAccounts(place, (engine) => seedAccounts(engine, SEED))
  const secretsFile = join(place.folder, 'secrets.txt')
  await writeFile(secretsFile, keys.map(({ secret }) => `${secret}\n`).join(''))
  const quotas = id === 'g' ? ONE : PLENTY
  const server = await startSexton({ ...place, apiOnly: true, core, nodeFlags, quotas })
  started(server)
  await untilServed(server)
  return { id, server, secretsFile, counted: () => countedIn(place) }
}

function countedIn(place: SextonPlace) {
  return withAccounts(place, async (engine) => {
    const [row = {}] = await engine.read(sql`
      select cast(coalesce(sum(used + paid), 0) as bigint) as calls from usage_days`)
    return column.integer(row, 'calls')
  })
}

async function withAccounts<T>(
  { folder, databaseUrl }: SextonPlace,
  work: (engine: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const choice =
    databaseUrl === undefined
      ? ({ kind: 'sqlite' } as const)
      : ({ kind: 'postgres', url: databaseUrl } as const)
  const engine = await openStore(join(folder, 'data'), 'accounts', choice)
  try {
    await migrateStore(engine, 'accounts')
    return await work(engine)
  } finally {
    await engine.close()
  }
}

async function checkpoint(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => client.query('checkpoint'))
}

/** An answer as it came, for the servers that give it as a constant. */
async function sampleAnswer(url: string) {
  const answer = await fetch(url)
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${body}`)
  // `fetch` gives names in lower case; what is sent should be as costly to write.
  const inCase = (name: string) => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
  return { headers: [...answer.headers].map(([name, value]) => [inCase(name), value]), body }
}

async function startRival(
  input: StartInput,
  { id, secretsFile }: Pick<Contestant, 'id' | 'secretsFile'>,
  { answer, started }: { readonly answer: string; started(server: BenchProcess): void },
): Promise<Contestant> {
  const redis = id === 'e2' || id === 'e3' ? await startRedis(input, id) : undefined
  if (redis !== undefined) started(redis)
  const database = id === 'f' ? await input.postgres.createDatabase() : undefined
  const program = id === 'b' ? 'constants' : id === 'f' ? 'rate-limiter-postgres' : 'rate-limit'
  const server = startProcess({
    core: input.core,
    port: await freePort(),
    command: [process.execPath, join(input.rivals, `${program}.mjs`)],
    environment: {
      BENCH_ANSWER: answer,
      BENCH_PATH: input.path.replace(/\?.*/, ''),
      ...(redis !== undefined && { BENCH_REDIS: redis.url.replace('http', 'redis') }),
      ...(database !== undefined && { BENCH_DATABASE: database }),
    },
    folder: input.rivals,
  })
  started(server)
  await server.until(
    async () => (await fetch(server.url + input.path).catch(() => null))?.ok === true,
  )
  return { id, server, secretsFile, ...(database && { settle: () => checkpoint(database) }) }
}

/** In memory only, as limiters use it. With e3 an answer waits until its count is on the disk, as ours does. */
async function startRedis({ folder }: StartInput, id: 'e2' | 'e3'): Promise<BenchProcess> {
  const program = await findDebianProgram(process.env, {
    names: ['redis-server'],
    missing: 'the benchmark needs Redis: apt-get install redis-server',
  })
  const own = join(folder, id)
  await mkdir(own)
  const port = await freePort()
  const kept = id === 'e3' ? ['yes', '--appendfsync', 'always'] : ['no']
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', own]
  const command = [program, ...place, '--save', '', '--appendonly', ...kept]
  return startProcess({ port, command, folder: own })
}
