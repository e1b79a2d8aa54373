import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findDebianProgram } from '#test/debian-program.ts'

export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** The processor core that the generator may use. */
  readonly core: number
  /** A file of secrets, one in a line; anonymous without. */
  readonly secretsFile: string | undefined
}

export interface LoadResult {
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

const SCRIPT = join(import.meta.dirname, 'load.lua')

/** An answer that takes longer counts as lost. */
const TIMEOUT_SECONDS = 10

/** Asks as fast as a number of keep-alive connections can; throws when anything was not answered 200. */
export async function runWrk(load: Load): Promise<LoadResult> {
  const wrk = await findDebianProgram(process.env, {
    names: ['wrk'],
    missing: 'the benchmark needs the load generator wrk: apt-get install wrk',
  })
  const { connections, seconds, core, url, secretsFile } = load
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, `--timeout=${TIMEOUT_SECONDS}s`]
  const script = ['-s', SCRIPT, url, ...(secretsFile === undefined ? [] : ['--', secretsFile])]
  const { stdout } = await promisify(execFile)('taskset', [
    '-c',
    String(core),
    wrk,
    ...flags,
    ...script,
  ])
  const [, found] = /^result (.*)$/m.exec(stdout) ?? []
  if (found === undefined) throw new Error(`wrk gave no result:\n${stdout}`)
  const result: LoadResult = JSON.parse(found)
  if (result.refused > 0 || result.failed > 0)
    throw new Error(`${url}: ${result.refused} refused, ${result.failed} failed`)
  return result
}
