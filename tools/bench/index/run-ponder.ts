import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from '#lib/free-port.ts'
import { benchAddresses } from './bench-ecosystem.ts'
import { type ChainServer, startChainServer } from './chain-server.ts'
import type { ChainTruth } from './chain-truth.ts'
import { installPonder, PONDER_LINES, type PonderLine } from './install-ponder.ts'
import { cpuSeconds, peakMegabytes } from './process-figures.ts'
import type { ServerCounts } from './server-counts.ts'

export interface PonderResult {
  readonly logs: number
  /** From the start of the process until its /ready says 200. */
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  readonly counts: ServerCounts
}

/** The newer line starts each URL at 20 requests a second; listed so often, pacing does not bind. */
const URLS_LISTED = 30

const POLL_MS = 100
/** A rival that takes longer is not worth waiting for. */
const READY_TIMEOUT_MS = 15 * 60_000
/** The blocks that are not final come after /ready, one at a time. */
const HEAD_TIMEOUT_MS = 120_000
const OUTPUT_CHARACTERS_MAX = 4_000

if (import.meta.main) await main()

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { logs: text, line: text } })
  const server = await startChainServer({ logs: values.logs ?? '20000', 'full-bloom': true })
  try {
    for (const line of PONDER_LINES.filter(
      (each) => values.line === undefined || each === values.line,
    ))
      process.stdout.write(`${line} ${JSON.stringify(await runPonder(server, line))}\n`)
  } finally {
    await server.stop()
  }
}

/** Lets a fresh Ponder on its embedded PGlite index a chain; throws when its figures are wrong. */
export async function runPonder(server: ChainServer, line: PonderLine): Promise<PonderResult> {
  const folder = await installPonder(line)
  await rm(join(folder, '.ponder'), { recursive: true, force: true })
  const truth = await server.truth()
  await server.resetCounts()
  const port = await freePort()
  const startedMs = performance.now()
  const child = startPonder(folder, { port, url: server.url, line })
  const output = keepOutput(child)
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  try {
    await until(child, READY_TIMEOUT_MS, async () => (await fetch(`${url}/ready`)).status === 200)
    const seconds = (performance.now() - startedMs) / 1000
    const counts = await server.counts()
    const figures = {
      cpuSeconds: await cpuSeconds(child.pid ?? 0),
      peakMegabytes: await peakMegabytes(child.pid ?? 0),
    }
    await until(child, HEAD_TIMEOUT_MS, async () => isRight(url, truth))
    return { logs: truth.wanted, seconds, ...figures, counts }
  } catch (cause) {
    throw new Error(`ponder ${line} failed:\n${output.text}`, { cause })
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

function startPonder(
  folder: string,
  input: { readonly port: number; readonly url: string; readonly line: PonderLine },
): ChildProcess {
  const { grave, crypt, distributor, graveyard } = benchAddresses
  const chain = {
    url: input.url,
    addresses: { tokens: [grave, crypt], distributor, graveyard },
    isOld: input.line === '1.0.0',
    urlsListed: URLS_LISTED,
  }
  const program = join(folder, 'node_modules/ponder/dist/esm/bin/ponder.js')
  const flags = ['--schema', 'bench', '--port', String(input.port), '--hostname', '127.0.0.1']
  return spawn(process.execPath, [program, 'start', ...flags], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PONDER_TELEMETRY_DISABLED: 'true',
      BENCH_CHAIN: JSON.stringify(chain),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function keepOutput(child: ChildProcess): { text: string } {
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text = (output.text + text).slice(-OUTPUT_CHARACTERS_MAX)
    })
  return output
}

async function until(
  child: ChildProcess,
  timeoutMs: number,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await isDone().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}`)
    if (performance.now() > endMs) throw new Error(`not done after ${timeoutMs / 1000} s`)
    await sleep(POLL_MS)
  }
}

async function isRight(url: string, truth: ChainTruth): Promise<boolean> {
  const answer = await fetch(`${url}/figures`)
  const found = (await answer.json()) as Readonly<Record<string, unknown>>
  const burned = BigInt(truth.grave.totalBurnedRaw) + BigInt(truth.crypt.totalBurnedRaw)
  return (
    found.burns === truth.grave.burnCount + truth.crypt.burnCount &&
    found.burned === String(burned) &&
    found.claims === truth.claims.count &&
    found.digs === truth.digs.count &&
    found.debtors === 0
  )
}
