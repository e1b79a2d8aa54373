import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { type ApiRow, summarise } from './api-row.ts'
import { checkExact } from './check-exact.ts'
import { CONTESTANTS, type Contestant, type ContestantId, type Cores } from './contestant.ts'
import { installRivals } from './install-rivals.ts'
import { measure } from './measure.ts'
import { type ApiResults, holds, promisedFigures } from './must-show.ts'
import { pinPostgres } from './pin-postgres.ts'
import { printResults } from './print-results.ts'
import { runOpenLoop } from './run-open-loop.ts'
import { makeRegister } from './sexton-register.ts'
import { startService } from './sexton-service.ts'
import { startContestants } from './start-contestants.ts'
import { startRedis } from './start-redis.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    only: { ...text, default: Object.keys(CONTESTANTS).join(',') },
    callers: { ...text, default: 'keyed,anonymous' },
    connections: { ...text, default: '64,512' },
    rounds: { ...text, default: '3' },
    seconds: { ...text, default: '3' },
    /** Of the server, the load generator, the databases, a second replica. */
    cores: { ...text, multiple: true, default: ['0,1,2,3'] },
    path: { ...text, default: '/api/burns?period=1d' },
    'skip-exact': { type: 'boolean' },
    'skip-open-loop': { type: 'boolean' },
    'node-flags': { ...text, default: '' },
    json: text,
  },
})

/** Shorter, and a fifth of the processor time of the first rounds is the compiler's. */
const WARM_UP_SECONDS = 10

/** At 20,000 a second p99.9 is the worst of 200. */
const OPEN_LOOP_SECONDS = 10

/** Of the check that two replicas are exact together. */
const EXACT_QUOTA = 200
const PRICE_PER_CALL = 100n

const ids = listed('only', Object.keys(CONTESTANTS).filter(isContestant))
const callerKinds = listed('callers', ['keyed', 'anonymous'] as const)
const connectionCounts = values.connections.split(',').map((each) => whole('connections', each))
const rounds = whole('rounds', values.rounds)
const seconds = whole('seconds', values.seconds)
const layouts = values.cores.map(parseCores)
const parent = await mkdtemp(join(tmpdir(), 'sexton-bench-api-'))
try {
  const all: ApiResults[] = []
  for (const [index, cores] of layouts.entries()) {
    const folder = join(parent, String(index))
    await mkdir(folder)
    const results = await measureAll({ cores, folder })
    process.stdout.write(`Cores ${values.cores[index]}\n\n${printResults(results)}\n`)
    all.push(results)
  }
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(all, null, 2))
  process.exitCode = all.flatMap(promisedFigures).every(holds) ? 0 : 1
} finally {
  await rm(parent, { recursive: true, force: true })
}

/** One layout of cores. */
interface Place {
  readonly cores: Cores
  readonly folder: string
}

async function measureAll({ cores, folder }: Place): Promise<ApiResults> {
  const needsPostgres = ids.some((id) => ['d', 'd2', 'f'].includes(id))
  const postgres = needsPostgres ? await startPostgres({ durable: true }) : undefined
  if (postgres !== undefined) await pinPostgres(postgres.url, cores.database)
  const redis = await startRedises({ cores, folder })
  try {
    const exact =
      ids.includes('d2') && !values['skip-exact']
        ? await exactness(postgres, { cores, folder })
        : undefined
    const started = await startContestants({
      folder,
      cores,
      ids,
      postgres,
      path: values.path,
      redisUrls: Object.fromEntries(redis.map(({ id, url }) => [id, url])),
      rivals: await installRivals(),
      nodeFlags: values['node-flags'].split(' ').filter(Boolean),
    })
    try {
      const lines = summarise(await measureRounds(started.contestants, cores))
      const openLoop = values['skip-open-loop']
        ? []
        : await runOpenLoop(started.contestants, {
            lines,
            seconds: OPEN_LOOP_SECONDS,
            path: values.path,
            core: cores.load,
          })
      const bodyBytes = Buffer.byteLength(started.answer.body)
      const sharesCores = cores.database === cores.server || cores.database === cores.load
      return { bodyBytes, lines, openLoop, sharesCores, ...(exact !== undefined && { exact }) }
    } finally {
      await started.stop()
    }
  } finally {
    for (const each of redis) await each.stop()
    await postgres?.stop()
  }
}

/** Of each kind that is asked for. */
async function startRedises({ cores, folder }: Place) {
  const wanted = (['e2', 'e3'] as const).filter((id) => ids.includes(id))
  return Promise.all(
    wanted.map(async (id) => {
      const own = join(folder, id)
      await mkdir(own)
      const redis = await startRedis({ core: cores.database, folder: own, durable: id === 'e3' })
      return { id, ...redis }
    }),
  )
}

/** The competitors by turns, so that a slow moment of the machine hits all of them. */
async function measureRounds(
  contestants: readonly Contestant[],
  cores: Cores,
): Promise<readonly ApiRow[]> {
  const rows: ApiRow[] = []
  const common = { path: values.path, cores }
  for (const contestant of contestants) {
    const [callers = 'keyed'] = contestant.callers
    await measure({ ...common, contestant, callers, connections: 64, seconds: WARM_UP_SECONDS })
  }
  for (let round = 0; round < rounds; round += 1)
    for (const callers of callerKinds)
      for (const connections of connectionCounts)
        for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
          if (!contestant.callers.includes(callers)) continue
          const row = await measure({ ...common, contestant, callers, connections, seconds })
          await contestant.settle?.()
          rows.push(row)
          say(`${row.id} ${callers} ${connections}: ${Math.round(row.requestsPerSecond)}/s`)
        }
  return rows
}

/** Two replicas with a small quota on a database of their own. */
async function exactness(postgres: TestPostgres | undefined, { cores, folder }: Place) {
  const databaseUrl = await postgres?.createDatabase()
  const place = { folder: join(folder, 'exact'), databaseUrl }
  await mkdir(place.folder, { recursive: true })
  await makeRegister(place.folder, databaseUrl)
  const quotas = { anonymous: EXACT_QUOTA, free: EXACT_QUOTA, premium: EXACT_QUOTA }
  const replicas = [
    await startService({ ...place, quotas, core: cores.server }),
    await startService({ ...place, quotas, core: cores.replica }),
  ]
  try {
    return await checkExact({
      place,
      urls: replicas.map((each) => each.url),
      path: values.path,
      quota: EXACT_QUOTA,
      pricePerCall: PRICE_PER_CALL,
    })
  } finally {
    for (const each of replicas) await each.stop()
  }
}

function isContestant(id: string): id is ContestantId {
  return id in CONTESTANTS
}

/** What an option names, all of it known. */
function listed<T extends string>(option: 'only' | 'callers', known: readonly T[]): readonly T[] {
  return values[option].split(',').map((name) => {
    const found = known.find((each) => each === name)
    if (found === undefined)
      throw new Error(`--${option}: "${name}" is none of ${known.join(', ')}`)
    return found
  })
}

function whole(option: string, given: string): number {
  const number = Number(given)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new Error(`--${option}: "${given}" is no whole number above 0`)
  return number
}

function parseCores(list: string): Cores {
  const [server = 0, load = 1, database = 2, replica = 3] = list.split(',').map(Number)
  return { server, load, database, replica }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
