import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '#devnet/free-ports.ts'
import { type Devnet, startDevnet } from '#devnet/start-devnet.ts'

/**
 * Starts local chains for one test file, in a new folder and on free ports; `mine` of `actions.ts` makes
 * their blocks. stop() also deletes the folder.
 */
export async function startOwnDevnet(historyDays: number): Promise<Devnet> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-devnet-'))
  const devnet = await startDevnet({ dataFolder, ...(await freePorts()), live: false, historyDays })
  return {
    ...devnet,
    async stop() {
      await devnet.stop()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}
