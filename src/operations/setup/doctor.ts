import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { countOf } from '#lib/count-of.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import type { Clock } from '#lib/time.ts'
import type { Settings, StoreSetting } from '#main/settings.ts'
import { storeFile } from '#main/store-file.ts'
import { openStore } from '#main/stores.ts'
import { missingRights } from '#operations/grants/missing-rights.ts'
import { ROLES, type Role, STORES, type StoreName } from '#operations/grants/rights.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { messageOf } from './discover/chain-view.ts'
import { type ProbedEndpoint, probeEndpoint } from './probe-endpoint.ts'

export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail'
  readonly subject: string
  readonly detail: string
}

export interface Examined {
  readonly findings: readonly Finding[]
  readonly endpoints: readonly (ProbedEndpoint & { readonly chain: string })[]
}

export interface DoctorDeps {
  readonly settings: Settings
  /** Whose rights the database roles must have; any of them unless given. */
  readonly role?: Role | undefined
  readonly clock: Clock
  onProgress(task: string, done: number, total: number): void
}

/** Looks at the machine, the databases and every endpoint; changes nothing. */
export async function examine(
  deps: DoctorDeps,
  ecosystem: Ecosystem | undefined,
): Promise<Examined> {
  const { settings } = deps
  const urls = (ecosystem?.chains ?? []).flatMap((chain) =>
    chain.rpcUrls.map((url) => ({ chain, url })),
  )
  let done = 0
  const probes = urls.map(async ({ chain, url }) => {
    const outcome = await judgeEndpoint(deps, chain, url)
    done += 1
    deps.onProgress('probing endpoints', done, urls.length)
    return outcome
  })
  const local = await Promise.all([
    judgeNode(),
    judgePackage(),
    judgePort(settings.host, settings.port, 'PORT'),
    settings.metrics &&
      judgePort(settings.metrics.host, settings.metrics.port, 'SEXTON_METRICS_PORT'),
    judgeDisk(settings.dataFolder),
    judgeDatabase(deps, 'register'),
    judgeDatabase(deps, 'accounts'),
  ])
  const probed = await Promise.all(probes)
  return {
    findings: [
      ...local.flatMap((each) => each ?? []),
      ...probed.flatMap(({ findings }) => findings),
    ],
    endpoints: probed.flatMap(({ endpoint }) => endpoint ?? []),
  }
}

function judgeNode(): Finding {
  return { level: 'ok', subject: 'node', detail: `Node ${process.versions.node}` }
}

/** What answers are read from. */
const FILES = ['dist/console', 'docs/errors']

export function judgePackage(root = PACKAGE_ROOT): Finding {
  const subject = 'package'
  const missing = FILES.filter((file) => !existsSync(join(root, file)))
  if (missing.length === 0) return { level: 'ok', subject, detail: `complete, ${root}` }
  const detail = `${root} lacks ${missing.join(' and ')}; install it again, or build it with "npm run build"`
  return { level: 'warn', subject, detail }
}

async function judgePort(host: string, port: number, variable: string): Promise<Finding> {
  const subject = `port ${port}`
  if (port === 0) return { level: 'ok', subject, detail: `${variable}=0: any free port` }
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    return { level: 'ok', subject, detail: `free on ${host} (${variable})` }
  } catch (error) {
    const isOurs = await isSexton(`http://${host}:${port}`)
    if (isOurs) return { level: 'ok', subject, detail: 'a running Sexton listens there' }
    return {
      level: 'fail',
      subject,
      detail: `cannot listen on ${host} (${messageOf(error)}); stop the other process, or set another ${variable}`,
    }
  } finally {
    server.close()
  }
}

async function isSexton(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(2_000)
  try {
    const api = await fetch(`${url}/healthz`, { signal })
    if (api.headers.has('x-ratelimit-limit')) return true
    return (await (await fetch(`${url}/metrics`, { signal })).text()).includes('sexton_')
  } catch {
    return false
  }
}

const GIGABYTE = 1e9
const DISK_LOW_GB = 10
const DISK_FULL_GB = 1

async function judgeDisk(folder: string): Promise<Finding> {
  let place = resolve(folder)
  while (!existsSync(place)) place = dirname(place)
  const { bavail, bsize } = await statfs(place)
  const free = (bavail * bsize) / GIGABYTE
  const detail = `${free.toFixed(1)} GB free for ${folder} (SEXTON_DATA)`
  if (free < DISK_FULL_GB) return { level: 'fail', subject: 'disk', detail: `${detail}; make room` }
  if (free < DISK_LOW_GB)
    return { level: 'warn', subject: 'disk', detail: `${detail}; a large history needs more` }
  return { level: 'ok', subject: 'disk', detail }
}

/** Both are promises of the accounts; the register could do without. */
const WANTED = [
  {
    name: 'synchronous_commit',
    refused: ['off', 'local'],
    why: 'an acknowledged debit must survive',
  },
  { name: 'fsync', refused: ['off'], why: 'a power loss would lose acknowledged debits' },
  { name: 'full_page_writes', refused: ['off'], why: 'a power loss could damage tables' },
  {
    name: 'transaction_read_only',
    refused: ['on'],
    why: 'this server is a standby; name the primary',
  },
] as const

const CLOCK_SECONDS = 2

async function judgeDatabase(
  { settings, clock, role }: DoctorDeps,
  name: 'register' | 'accounts',
): Promise<readonly Finding[]> {
  const store: StoreSetting = settings[name]
  const subject = `${name} database`
  if (store.kind === 'sqlite') return [await judgeFile(settings.dataFolder, name)]
  const engine = await openStore(settings.dataFolder, name, store)
  try {
    const beforeMs = clock()
    const [row] = await engine.read(sql`select
      current_setting('server_version') as server_version,
      current_setting('max_connections') as max_connections,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('fsync') as fsync,
      current_setting('full_page_writes') as full_page_writes,
      current_setting('transaction_read_only') as transaction_read_only,
      cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now_ms`)
    const apart = (Number(row?.now_ms) - (beforeMs + clock()) / 2) / 1_000
    const wrong = WANTED.filter(({ name: setting, refused }) =>
      (refused as readonly unknown[]).includes(row?.[setting]),
    )
    return [
      {
        level: 'ok',
        subject,
        detail: `PostgreSQL ${row?.server_version}, ${row?.max_connections} connections`,
      },
      ...wrong.map(
        ({ name: setting, why }): Finding => ({
          level: 'fail',
          subject,
          detail: `${setting} is ${row?.[setting]}: ${why}`,
        }),
      ),
      judgeClock(`${name} database`, apart),
      ...(await judgeRights(engine, name, role)),
    ]
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return [
      { level: 'fail', subject, detail: `${error.message}; check its URL, or start the server` },
    ]
  } finally {
    await engine.close()
  }
}

async function judgeFile(dataFolder: string, name: 'register' | 'accounts'): Promise<Finding> {
  const subject = `${name} database`
  const file = storeFile(dataFolder, name)
  if (!existsSync(file)) {
    if (name === 'register' || !existsSync(storeFile(dataFolder, 'register')))
      return { level: 'ok', subject, detail: `${file} is made by the first start` }
    const detail = `${file} is gone, but the register is not; restore a backup with "sexton copy --from"`
    return { level: 'fail', subject, detail }
  }
  try {
    const engine = await openStore(dataFolder, name, { kind: 'sqlite' })
    await engine.read(sql`select count(*) from migrations`)
    await engine.close()
    return { level: 'ok', subject, detail: `SQLite, ${file}` }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return { level: 'fail', subject, detail: `${file}: ${error.message}; restore a backup` }
  }
}

/** Accepts any role that the rights suffice for, unless one is named. */
async function judgeRights(
  engine: Engine,
  name: StoreName,
  role: Role | undefined,
): Promise<readonly Finding[]> {
  const subject = `${name} database`
  const roles = (role === undefined ? ROLES : [role]).filter((each) => STORES[each].includes(name))
  if (roles.length === 0) return []
  const missing = await Promise.all(roles.map((each) => missingRights(engine, name, each)))
  const able = roles.filter((_, index) => missing[index] === undefined)
  if (able.length > 0) return [{ level: 'ok', subject, detail: `rights for ${able.join(', ')}` }]
  return [{ level: 'fail', subject, detail: missing.join('; ') }]
}

function judgeClock(of: string, apart: number): Finding {
  const detail = `the clock of the ${of} is ${apart.toFixed(1)} s from this one`
  if (Math.abs(apart) <= CLOCK_SECONDS) return { level: 'ok', subject: 'clock', detail }
  return { level: 'warn', subject: 'clock', detail: `${detail}; run NTP on both` }
}

async function judgeEndpoint(
  { clock }: DoctorDeps,
  chain: Chain,
  url: string,
): Promise<{ findings: readonly Finding[]; endpoint?: ProbedEndpoint & { chain: string } }> {
  const subject = `${chain.name} ${new URL(url).host}`
  try {
    const probed = await probeEndpoint(url, clock)
    return {
      findings: judgeProbed(probed, { subject, chain, nowUnix: clock() / 1_000 }),
      endpoint: { ...probed, chain: chain.name },
    }
  } catch (error) {
    const detail = `does not answer (${messageOf(error)}); check the URL, or start the node`
    return { findings: [{ level: 'fail', subject, detail }] }
  }
}

const LOG_RANGE_LOW = 1_000
const COMPRESSED = 0.9

function judgeProbed(
  probed: ProbedEndpoint,
  { subject, chain, nowUnix }: { subject: string; chain: Chain; nowUnix: number },
): readonly Finding[] {
  const { logRange, finalityLag, archiveBlocks, headNumber } = probed
  const age = nowUnix - probed.headUnix
  const history = headNumber - chain.startBlock
  const findings: readonly (readonly [Finding['level'], string] | false)[] = [
    ['ok', `${probed.clientVersion ?? 'unknown client'}, ${probed.latencyMs} ms`],
    probed.chainId !== chain.id && [
      'fail',
      `serves chain ${probed.chainId}, the file says ${chain.id}; correct the URL or the id`,
    ],
    age < -CLOCK_SECONDS && [
      'fail',
      `its head is ${Math.round(-age)} s in the future: the clock of this machine is slow; run NTP`,
    ],
    age > chain.staleAfterSeconds && [
      'warn',
      `its head is ${Math.round(age)} s old: the node lags, the chain stands still, or this clock is fast`,
    ],
    logRange.blocks < Math.min(LOG_RANGE_LOW, history) && [
      'warn',
      `logs of ${countOf(logRange.blocks, 'block')} at once (${logRange.refusal}); history takes long`,
    ],
    logRange.blocks >= Math.min(LOG_RANGE_LOW, history) && [
      'ok',
      `logs of ${countOf(logRange.blocks, 'block')} at once${logRange.refusal === null ? '' : `; of more: ${logRange.refusal}`}`,
    ],
    chain.finality === 'tag' &&
      finalityLag === null && [
        'fail',
        'knows no block "finalized"; write a depth in blocks as finality',
      ],
    finalityLag !== null && ['ok', `final block ${finalityLag} behind the head`],
    probed.timestampsInLogs === false && ['ok', 'no times in logs: they are read from headers'],
    probed.unproven !== null && [
      chain.proofs === 'every' ? 'fail' : 'ok',
      `cannot prove a block by its receipts (${probed.unproven}); write proofs: "deposits"`,
    ],
    probed.unproven === null &&
      !probed.blockReceipts && [
        'ok',
        'no eth_getBlockReceipts: receipts are read one by one, which costs more requests',
      ],
    archiveBlocks >= history
      ? ['ok', `state of the last ${countOf(archiveBlocks, 'block')}`]
      : [
          'warn',
          `state of the last ${countOf(archiveBlocks, 'block')} only: startBlock cannot be checked, and old balances cannot be compared`,
        ],
    probed.compression > COMPRESSED && [
      isLoopback(probed.host) ? 'ok' : 'warn',
      'answers are not compressed; with gzip or zstd history needs a fifth of the traffic',
    ],
  ]
  return findings
    .filter((each) => each !== false)
    .map(([level, detail]) => ({ level, subject, detail }))
}

function isLoopback(host: string): boolean {
  return /^(127\.|localhost|\[::1\])/.test(host)
}
