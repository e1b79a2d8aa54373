import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ChainServer } from './chain-server.ts'
import type { RawResult } from './raw-client.ts'
import type { ServerCounts } from './server-counts.ts'

export interface RawRun extends RawResult {
  readonly counts: ServerCounts
}

const PROGRAM = join(import.meta.dirname, 'raw-client.ts')

/** Runs the raw client in a process of its own; throws when it did not see every log. */
export async function runRaw(
  server: ChainServer,
  options: { readonly inFlight: number; readonly blocksMax?: number },
): Promise<RawRun> {
  await server.resetCounts()
  const { logs } = await server.truth()
  const flags = ['--url', server.url, '--in-flight', String(options.inFlight)]
  if (options.blocksMax !== undefined) flags.push('--max-range', String(options.blocksMax))
  const startedMs = performance.now()
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...flags])
  const seconds = (performance.now() - startedMs) / 1000
  const result: RawResult = JSON.parse(stdout)
  const all = Object.values(logs).reduce((sum, each) => sum + each, 0)
  const expected = all - (logs.noise ?? 0) - (logs.payment ?? 0)
  if (result.logs !== expected) throw new Error(`raw saw ${result.logs} logs, not ${expected}`)
  return { ...result, seconds, counts: await server.counts() }
}
