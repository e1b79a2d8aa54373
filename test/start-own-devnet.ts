import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '#base/async.ts'
import { freePorts } from '#devnet/free-ports.ts'
import { type Devnet, startDevnet } from '#devnet/start-devnet.ts'

/** Folder that the files of one run share, made and removed by `npm test`; a file that runs alone has none. */
export const SHARED_CHAINS = 'TEST_CHAINS_FOLDER'

/** The shortest history in which prices and holders are as they are on long ones. */
export const FULL_HISTORY_DAYS = 40

/** Most tests need wallets and money. */
const historyDaysUsual = 3

export interface OwnDevnetOptions {
  /** 3 unless given; files with the same number share a history. */
  readonly historyDays?: number
  /** Whether blocks and activity go on by themselves; else `mine` of `actions.ts` makes blocks. */
  readonly live?: boolean
}

/**
 * Starts local chains for one test file, in a new folder and on free ports, from the history that the
 * files of a run share. stop() also deletes the folder.
 */
export async function startOwnDevnet({
  historyDays = historyDaysUsual,
  live = false,
}: OwnDevnetOptions = {}): Promise<Devnet> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-devnet-'))
  const clear = () => rm(dataFolder, { recursive: true, force: true })
  try {
    await copySharedHistory(dataFolder, historyDays)
    const ports = await freePorts()
    const devnet = await startDevnet({ dataFolder, ...ports, live, historyDays, saved: false })
    return {
      ...devnet,
      async stop() {
        await devnet.stop()
        await clear()
      },
    }
  } catch (error) {
    await clear()
    throw error
  }
}

/**
 * Puts the history that the files of a run share where chains look for their own, so that a start only
 * goes on with it. A file that runs alone has none to copy.
 */
export async function copySharedHistory(
  dataFolder: string,
  historyDays = FULL_HISTORY_DAYS,
): Promise<void> {
  const shared = process.env[SHARED_CHAINS]
  if (shared === undefined || historyDays <= daysLeftOut) return
  await cp(await sharedHistory(shared, historyDays), dataFolder, { recursive: true })
}

/** A history is built in seconds, on a loaded machine in a few times as many. */
const builtWithinMs = 60_000

/** Folder of saved chains with this history; the first file that asks builds it and the others wait. */
async function sharedHistory(shared: string, historyDays: number): Promise<string> {
  const history = join(shared, `${historyDays}-days`)
  const lock = `${history}.lock`
  for (let waitedMs = 0; waitedMs < builtWithinMs; waitedMs += 50) {
    if (existsSync(history)) return history
    if (await makesFolder(lock)) {
      try {
        if (!existsSync(history)) await buildHistory(history, historyDays)
      } finally {
        await rmdir(lock)
      }
      return history
    }
    await sleep(50)
  }
  throw new Error(`no history of ${historyDays} days within ${builtWithinMs} ms: see ${lock}`)
}

/** Making a folder is atomic: of several files that try at once, one succeeds. */
function makesFolder(path: string): Promise<boolean> {
  return mkdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
}

/**
 * The saved blocks come without their states, which cost most of the loading, so a chain can be read and
 * reorganised only above them. They end so long ago that each start mines the final block itself, 128
 * below the head.
 */
const daysLeftOut = 12

async function buildHistory(history: string, historyDays: number): Promise<void> {
  const dataFolder = `${history}.draft`
  const nowUnix = Math.floor(Date.now() / 1000) - daysLeftOut * 86_400
  const devnet = await startDevnet({
    dataFolder,
    ...(await freePorts()),
    nowUnix,
    live: false,
    historyDays: historyDays - daysLeftOut,
  })
  await devnet.stop(0)
  await rename(dataFolder, history)
}
