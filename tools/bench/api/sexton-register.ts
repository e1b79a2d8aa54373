import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { benchEcosystem } from '../index/bench-ecosystem.ts'
import { startChainServer } from '../index/chain-server.ts'
import { type SextonProcess, startSexton } from '../index/sexton-process.ts'

/** Enough that every endpoint has something to tell. */
const LOGS = 2_000

/** The same history in every run. */
const SEED = 1

const INDEX_TIMEOUT_MS = 60_000
const POLL_MS = 50

/** Lets Sexton read a small chain into a store; from then on its API role can stand alone. */
export async function makeRegister(folder: string, databaseUrl: string | undefined): Promise<void> {
  const chain = await startChainServer({ logs: LOGS, seed: SEED })
  try {
    const ecosystemFile = join(folder, 'ecosystem-index.json')
    await mkdir(folder, { recursive: true })
    await writeFile(ecosystemFile, JSON.stringify(benchEcosystem([chain.url])))
    const dataFolder = join(folder, 'data')
    const store = databaseUrl === undefined ? {} : { databaseUrl }
    const sexton = await startSexton({ dataFolder, ecosystemFile, ...store })
    try {
      await untilIndexed(sexton)
      await sexton.stop()
    } finally {
      await sexton.kill()
    }
  } finally {
    await chain.stop()
  }
}

/** A data folder whose register is that of another and whose accounts are empty. */
export async function copyRegister(from: string, to: string): Promise<void> {
  await mkdir(join(to, 'data'), { recursive: true })
  // What a process leaves in its log belongs to the database.
  for (const file of ['register.sqlite', 'register.sqlite-wal'])
    await cp(join(from, 'data', file), join(to, 'data', file)).catch(ignoreMissing)
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}

/** Waits until Sexton says that it has read everything up to the head. */
async function untilIndexed(sexton: Pick<SextonProcess, 'get'>): Promise<void> {
  const endMs = performance.now() + INDEX_TIMEOUT_MS
  for (;;) {
    const answer = await sexton.get('/readyz')
    const text = String(answer?.body?.parts?.['chain base'])
    const [, block, head] = /^live at block (\d+) of (\d+)/.exec(text) ?? []
    if (block !== undefined && block === head && !/history|backfill/i.test(text)) return
    if (performance.now() > endMs) throw new Error(`the small chain was not read: ${text}`)
    await sleep(POLL_MS)
  }
}
