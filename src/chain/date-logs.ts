import { allEnded, chunks } from '#base/async.ts'
import type { BlockHeader, Log } from '#base/chain.ts'
import type { ChainSource, SourceLog } from './chain-source.ts'
import { RpcError } from './rpc-error.ts'

/** Where a node leaves the time out of logs, each of their blocks is asked for. */
export async function dateLogs(
  source: Pick<ChainSource, 'header'>,
  logs: readonly SourceLog[],
): Promise<readonly Log[]> {
  if (logs.every(isDated)) return logs
  const blocks = new Set(logs.filter((log) => !isDated(log)).map(({ blockNumber }) => blockNumber))
  const times = new Map<number, number>()
  for (const some of chunks([...blocks], HEADERS_AT_ONCE))
    for (const header of await allEnded(some.map((number) => readHeader(source, number))))
      times.set(header.number, header.timestamp)
  return logs.map((log) =>
    isDated(log) ? log : { ...log, timestamp: times.get(log.blockNumber) ?? 0 },
  )
}

const HEADERS_AT_ONCE = 200

function isDated(log: SourceLog): log is Log {
  return log.timestamp !== null
}

async function readHeader(
  source: Pick<ChainSource, 'header'>,
  number: number,
): Promise<BlockHeader> {
  const header = await source.header(number)
  if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
  return header
}
