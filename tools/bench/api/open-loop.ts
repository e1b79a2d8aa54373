import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { median, printTable, short } from '../report.ts'
import type { Contestant } from './contestants.ts'
import type { Load } from './measure.ts'
import type { Round } from './must-show.ts'

const PROGRAM = join(import.meta.dirname, '../open-loop-load.ts')

/** Of what a server answers at most. */
const SHARES = [0.5, 0.9]

/** At which that was measured. */
const SATURATED_AT = 512

/** More than are needed at any moment. */
const CONNECTIONS = 256

/** How long calls wait that come at a fixed rate, from the moment each was due. */
export async function printOpenLoop(
  contestants: readonly Contestant[],
  rounds: readonly Round[],
  { core, path, seconds }: Pick<Load, 'core' | 'path' | 'seconds'>,
): Promise<void> {
  const rows: string[][] = []
  for (const { id, server, secretsFile, settle } of contestants)
    for (const share of SHARES) {
      const perSecond = share * saturation(rounds, id)
      const load = { url: server.url + path, perSecond, seconds, connections: CONNECTIONS }
      const input = JSON.stringify({ ...load, secretsFile })
      const command = ['-c', String(core), process.execPath, PROGRAM, input]
      const { stdout, stderr } = await promisify(execFile)('taskset', command)
      const { refused, ...ms } = JSON.parse(stdout)
      if (refused > 0) throw new Error(`${id}: ${refused} refused, the first with ${stderr}`)
      const waits = [ms.p50Ms, ms.p99Ms, ms.p999Ms].map(short)
      rows.push([id, `${share * 100} %`, short(perSecond), ...waits])
      await settle?.()
    }
  printTable(['', 'of its most', 'calls/s', 'p50 ms', 'p99 ms', 'p99.9 ms'], rows)
}

function saturation(rounds: readonly Round[], id: Contestant['id']): number {
  const same = rounds.filter(
    ({ callers, connections }) => callers === 'keyed' && connections === SATURATED_AT,
  )
  return median(same.flatMap(({ measured }) => measured.get(id)?.requestsPerSecond ?? []))
}
