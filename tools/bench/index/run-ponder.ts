import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import { cpuSeconds, peakMegabytes, readJson, startProcess } from '../bench-process.ts'
import { installPackages } from '../install-packages.ts'
import { benchAddresses } from './bench-ecosystem.ts'
import type { ChainServer } from './chain-server.ts'
import type { ChainTruth } from './chain-truth.ts'
import type { Figures } from './figures.ts'

/** The two lines of Ponder on npm: 1.0.0 is the older code (0.10), 0.17.7 the newer. */
export const PONDER_LINES = ['1.0.0', '0.17.7'] as const

/** What Ponder wants beside itself. */
const BESIDE = ['viem@2.57.1', 'hono@4']

/** Some registries lack the version that the newer line names; its release before has what Ponder imports. */
const OVERRIDES = { '@ponder/utils': '0.2.18' }

/** The newer line starts each URL at 20 requests a second; listed so often, pacing does not bind. */
const URLS_LISTED = 30

const POLL_MS = 100
/** A rival that takes longer is not worth waiting for. */
const READY_TIMEOUT_MS = 15 * 60_000
/** The blocks that are not final come after /ready, one at a time. */
const HEAD_TIMEOUT_MS = 120_000

/** Lets a fresh Ponder on its embedded PGlite index a chain; throws when its figures are wrong. */
export async function runPonder(
  server: ChainServer,
  line: (typeof PONDER_LINES)[number],
): Promise<Figures> {
  const folder = await installLine(line)
  const truth = await server.truth()
  await server.counts()
  const ponder = startProcess({ folder, port: await freePort(), ...commandOf(line, server.url) })
  try {
    const isReady = async () =>
      (await fetch(`${ponder.url}/ready`).catch(() => undefined))?.status === 200
    await ponder.until(isReady, { timeoutMs: READY_TIMEOUT_MS, pollMs: POLL_MS })
    const figures = {
      logs: truth.logs,
      seconds: (performance.now() - ponder.startedMs) / 1_000,
      counts: await server.counts(),
      cpuSeconds: await cpuSeconds(ponder.pid),
      peakMegabytes: await peakMegabytes(ponder.pid),
    }
    const isWhole = () => isRight(ponder.url, truth)
    await ponder.until(isWhole, { timeoutMs: HEAD_TIMEOUT_MS, pollMs: POLL_MS })
    return figures
  } finally {
    await ponder.kill()
  }
}

/** Gives the folder of an app without data. */
async function installLine(line: string): Promise<string> {
  const install = (overrides: Readonly<Record<string, string>>) =>
    installPackages(`ponder-${line}`, [`ponder@${line}`, ...BESIDE], overrides)
  const folder = await install({}).catch(() => install(OVERRIDES))
  await rm(join(folder, '.ponder'), { recursive: true, force: true })
  await mkdir(join(folder, 'src/api'), { recursive: true })
  const files = {
    schema: 'ponder.schema.ts',
    config: 'ponder.config.ts',
    handlers: 'src/index.ts',
    api: 'src/api/index.ts',
  }
  for (const [from, to] of Object.entries(files))
    await cp(join(import.meta.dirname, 'rivals', `ponder-${from}.mjs`), join(folder, to))
  return folder
}

function commandOf(line: string, url: string) {
  const { grave, crypt, distributor, graveyard } = benchAddresses
  const addresses = { tokens: [grave, crypt], distributor, graveyard }
  const chain = { url, addresses, isOld: line === '1.0.0', urlsListed: URLS_LISTED }
  const program = 'node_modules/ponder/dist/esm/bin/ponder.js'
  return {
    command: [process.execPath, program, 'start', '--schema', 'bench', '--hostname', '127.0.0.1'],
    environment: { PONDER_TELEMETRY_DISABLED: 'true', BENCH_CHAIN: JSON.stringify(chain) },
  }
}

async function isRight(url: string, { grave, crypt, claims, digs }: ChainTruth): Promise<boolean> {
  const found = await readJson(`${url}/figures`)
  return (
    found?.burns === grave.burnCount + crypt.burnCount &&
    found.burned === String(BigInt(grave.totalBurnedRaw) + BigInt(crypt.totalBurnedRaw)) &&
    found.claims === claims.count &&
    found.digs === digs.count &&
    found.debtors === 0
  )
}
