import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '#lib/free-port.ts'
import type { TestPostgres } from '#test/postgres.ts'
import { type AccountsPlace, readCounted, seedCallers } from './accounts.ts'
import { type Contestant, type ContestantId, type Cores, IN_TURN } from './contestant.ts'
import { type PinnedProcess, startPinned } from './pinned-process.ts'
import { checkpointPostgres, postgresCommits } from './postgres-load.ts'
import { type SampleAnswer, sampleAnswer } from './sample-answer.ts'
import { copyRegister, makeRegister } from './sexton-register.ts'
import { startService } from './sexton-service.ts'

export interface StartInput {
  readonly folder: string
  readonly cores: Cores
  readonly ids: readonly ContestantId[]
  readonly path: string
  readonly postgres: TestPostgres | undefined
  readonly redisUrls: Readonly<Partial<Record<ContestantId, string>>>
  /** The rivals' packages. */
  readonly rivals: string
  readonly nodeFlags: readonly string[]
}

/** Nobody runs out of these, so that every call is free. */
const PLENTY = { anonymous: 1_000_000_000, free: 1_000_000_000, premium: 1_000_000_000 }

/** The first call of a wallet's day is free, all others are paid. */
const ONE = { anonymous: 1, free: 1, premium: 1 }

/** To read a path by. */
const NOWHERE = 'http://localhost'

const SEED = { wallets: 100, keysPerWallet: 1, balance: 0n }

/** Pays for ten million calls of each key. */
const SEED_PAID = { ...SEED, balance: 1_000_000_000n }

/** Starts all that are asked for, each with its own data; `stop` ends them. */
export async function startContestants(input: StartInput) {
  const running: Contestant[] = []
  const stop = async () => {
    const servers = new Set(running.flatMap((each) => each.servers))
    await Promise.all([...servers].map((each) => each.stop()))
  }
  try {
    const answer = await startAll(input, running)
    const inTurn = IN_TURN.filter((id) => input.ids.includes(id))
    const contestants = inTurn.flatMap((id) => running.filter((each) => each.id === id))
    return { answer, contestants, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Adds to those that run as they start; gives the answer that all of them give. */
async function startAll(input: StartInput, running: Contestant[]): Promise<SampleAnswer> {
  const { folder, ids } = input
  const template = join(folder, 'template')
  await makeRegister(template, undefined)
  const first = await startOnSqlite(input, { id: 'c', template })
  running.push(first)
  const answer = await sampleAnswer(`${first.servers[0]?.url}${input.path}`)
  if (ids.includes('g')) running.push(await startOnSqlite(input, { id: 'g', template }))
  if (ids.includes('d') || ids.includes('d2')) running.push(...(await startOnPostgres(input)))
  for (const id of ids) {
    const rival = await startRival(input, id, { answer, secretsFile: first.secretsFile })
    if (rival !== undefined) running.push(rival)
  }
  return answer
}

async function startOnSqlite(
  { folder, cores, nodeFlags }: StartInput,
  { id, template }: { readonly id: 'c' | 'g'; readonly template: string },
): Promise<Contestant> {
  const place = { folder: join(folder, id) }
  await copyRegister(template, place.folder)
  const { secretsFile } = await seedCallers(place, id === 'g' ? SEED_PAID : SEED)
  const quotas = id === 'g' ? ONE : PLENTY
  const server = await startService({ ...place, core: cores.server, quotas, nodeFlags })
  const callers = id === 'g' ? (['keyed'] as const) : (['keyed', 'anonymous'] as const)
  return { id, servers: [server], callers, secretsFile, ...figuresOf(place) }
}

/** One database and two replicas on it; the first alone is the contestant with one. */
async function startOnPostgres({
  folder,
  cores,
  postgres,
  nodeFlags,
}: StartInput): Promise<Contestant[]> {
  assert(postgres !== undefined, 'who is on PostgreSQL is given one')
  const databaseUrl = await postgres.createDatabase()
  const place = { folder: join(folder, 'd'), databaseUrl }
  await makeRegister(place.folder, place.databaseUrl)
  const { secretsFile } = await seedCallers(place, SEED)
  const service = { ...place, quotas: PLENTY }
  const one = await startService({ ...service, core: cores.server, nodeFlags })
  const two = await startService({ ...service, core: cores.replica })
  const settle = () => checkpointPostgres(databaseUrl)
  const callers = ['keyed', 'anonymous'] as const
  const both = { callers, secretsFile, settle, ...figuresOf(place) }
  return [
    { id: 'd', servers: [one], ...both },
    { id: 'd2', servers: [one, two], ...both },
  ]
}

function figuresOf(place: AccountsPlace) {
  return {
    commits: async () => (await readCounted(place)).batches,
    counted: async () => {
      const { free, paid } = await readCounted(place)
      return free + paid
    },
  }
}

interface RivalInput {
  readonly answer: SampleAnswer
  readonly secretsFile: string
}

async function startRival(
  input: StartInput,
  id: ContestantId,
  { answer, secretsFile }: RivalInput,
): Promise<Contestant | undefined> {
  const common = { id, secretsFile, callers: ['keyed', 'anonymous'] as const }
  const start = (program: string, environment: Readonly<Record<string, string>> = {}) =>
    startProgram(input, program, { BENCH_ANSWER: JSON.stringify(answer), ...environment })
  if (id === 'a') return { ...common, servers: [await start('node-http.mjs')] }
  if (id === 'b') return { ...common, servers: [await start('fastify-constants.mjs')] }
  if (id === 'e') return { ...common, servers: [await start('fastify-rate-limit.mjs')] }
  const redisUrl = input.redisUrls[id]
  if (redisUrl !== undefined)
    return {
      ...common,
      servers: [await start('fastify-rate-limit.mjs', { BENCH_REDIS: redisUrl })],
    }
  if (id === 'f' && input.postgres !== undefined) {
    const url = await input.postgres.createDatabase()
    const server = await start('rate-limiter-postgres.mjs', { BENCH_DATABASE: url })
    const settle = () => checkpointPostgres(url)
    return { ...common, servers: [server], settle, commits: () => postgresCommits(url) }
  }
  return undefined
}

async function startProgram(
  { rivals, cores, path }: StartInput,
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<PinnedProcess> {
  return startPinned({
    core: cores.server,
    port: await freePort(),
    command: [process.execPath, join(rivals, program)],
    environment: { BENCH_PATH: new URL(path, NOWHERE).pathname, ...environment },
    folder: rivals,
    readyPath: path,
  })
}
