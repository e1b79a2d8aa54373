import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findDebianProgram } from '#test/debian-program.ts'
import { cpuSeconds, peakMegabytes } from '../bench-process.ts'
import type { Contestant } from './contestants.ts'

export interface Load {
  readonly callers: 'keyed' | 'anonymous'
  readonly connections: number
  readonly seconds: number
  readonly path: string
  /** The processor core that the generator may use. */
  readonly core: number
}

/** One measured run of one competitor. */
export interface Measured {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server for one request, in microseconds. */
  readonly cpuMicroseconds: number
  readonly peakMegabytes: number
  /** Share of its core that the load generator used; near 1 it was the bottleneck. */
  readonly loadShare: number
}

const SCRIPT = join(import.meta.dirname, 'load.lua')

/** An answer that takes longer counts as lost. */
const TIMEOUT_SECONDS = 10

/** Loads one competitor for some seconds; throws if an answer was not 200 or was not counted. */
export async function measure(contestant: Contestant, load: Load): Promise<Measured> {
  const { id, server } = contestant
  const look = async () => ({
    cpu: await cpuSeconds(server.pid),
    calls: (await contestant.counted?.()) ?? Number.NaN,
  })
  const before = await look()
  const { requests, seconds, ...result } = await runWrk(contestant, load)
  const after = await look()
  const counted = after.calls - before.calls
  // The generator hangs up before its last requests are answered, so that more may be counted.
  if (counted < requests) throw new Error(`${id}: ${requests} answers, ${counted} counted`)
  return {
    requestsPerSecond: requests / seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuMicroseconds: ((after.cpu - before.cpu) / requests) * 1e6,
    peakMegabytes: await peakMegabytes(server.pid),
    loadShare: result.cpuSeconds / seconds,
  }
}

interface WrkResult {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers that are neither 2xx nor 3xx. */
  readonly refused: number
  /** Requests without an answer. */
  readonly failed: number
  readonly cpuSeconds: number
}

async function runWrk({ server, secretsFile }: Contestant, load: Load): Promise<WrkResult> {
  const wrk = await findDebianProgram(process.env, {
    names: ['wrk'],
    missing: 'the benchmark needs the load generator wrk: apt-get install wrk',
  })
  const { connections, seconds, core, path, callers } = load
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, `--timeout=${TIMEOUT_SECONDS}s`]
  const script = [
    '-s',
    SCRIPT,
    server.url + path,
    ...(callers === 'keyed' ? ['--', secretsFile] : []),
  ]
  const command = ['-c', String(core), wrk, ...flags, ...script]
  const { stdout } = await promisify(execFile)('taskset', command)
  const [, found] = /^result (.*)$/m.exec(stdout) ?? []
  if (found === undefined) throw new Error(`wrk gave no result:\n${stdout}`)
  const result: WrkResult = JSON.parse(found)
  if (result.refused > 0 || result.failed > 0)
    throw new Error(`${server.url}: ${result.refused} refused, ${result.failed} failed`)
  return result
}
