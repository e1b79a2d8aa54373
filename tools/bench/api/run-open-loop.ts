import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ApiLine } from './api-row.ts'
import { lineFor } from './api-row.ts'
import type { Contestant, ContestantId } from './contestant.ts'

/** Latency at a fixed rate of arrivals, in milliseconds from the moment each request was due. */
export interface OpenLoopLine {
  readonly id: ContestantId
  /** Of the rate at which the server is saturated. */
  readonly share: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

const SHARES = [0.5, 0.9]

/** Saturation is what it answers at so many connections. */
const SATURATED_AT = 512

/** More than are needed at any moment. */
const CONNECTIONS = 256

export const PROGRAM = join(import.meta.dirname, 'open-loop-load.ts')

/** Loads each server at half and at nine tenths of what it can answer. */
export async function runOpenLoop(
  contestants: readonly Contestant[],
  input: {
    readonly lines: readonly ApiLine[]
    readonly seconds: number
    readonly path: string
    readonly core: number
  },
): Promise<readonly OpenLoopLine[]> {
  const found: OpenLoopLine[] = []
  for (const { id, servers, secretsFile, settle } of contestants) {
    const saturated = lineFor(input.lines, id, 'keyed', SATURATED_AT)?.requestsPerSecond
    const [server] = servers
    if (saturated === undefined || server === undefined || servers.length > 1) continue
    for (const share of SHARES) {
      const perSecond = saturated * share
      const load = {
        url: server.url + input.path,
        perSecond,
        seconds: input.seconds,
        connections: CONNECTIONS,
        secretsFile,
      }
      const command = [String(input.core), process.execPath, PROGRAM, JSON.stringify(load)]
      const { stdout, stderr } = await promisify(execFile)('taskset', ['-c', ...command])
      const { refused, ...figures } = JSON.parse(stdout)
      if (refused > 0) throw new Error(`${id}: ${refused} refused, the first with ${stderr}`)
      found.push({ id, share, requestsPerSecond: perSecond, ...figures })
      await settle?.()
    }
  }
  return found
}
