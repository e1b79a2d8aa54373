import type { BlockRef, Log } from '#domain/chain.ts'
import type { ChainSource, ProvenBlock } from '../chain-source.ts'
import { EndpointError } from '../endpoints/endpoint-error.ts'
import type { LogFilter } from '../log-filter.ts'
import { matches, verifyLogs } from '../verify-logs.ts'

export interface Witness {
  readonly host: string
  readonly source: Pick<ChainSource, 'header' | 'logsInBlock'>
}

export interface ProveLogsInput {
  readonly filter: LogFilter
  readonly ref: BlockRef
  /** `receipts`: hashed against the block; `endpoints`: two nodes agree. */
  readonly how: 'receipts' | 'endpoints'
  provenBlock(ref: BlockRef): Promise<ProvenBlock>
  readonly witnesses: readonly Witness[]
  /** Whether a second node, if configured, must confirm. */
  needsSecond(logs: readonly Log[]): boolean
}

export async function proveLogs(input: ProveLogsInput): Promise<readonly Log[]> {
  if (input.how === 'endpoints') return agreedLogs(input)
  const { logs } = await input.provenBlock(input.ref)
  const wanted = logs.filter((log) => matches(input.filter, log))
  if (input.needsSecond(wanted)) await requireSecond(input)
  return wanted
}

async function requireSecond({ witnesses, ref }: ProveLogsInput): Promise<void> {
  if (witnesses.length < 2) return
  const opinions = await Promise.all(
    witnesses.map(async ({ host, source }) => {
      const header = await source.header(ref.number).catch(reasonOf)
      if (typeof header === 'string') return `${host}: ${header}`
      if (header === undefined) return `${host} does not know block ${ref.number}`
      return header.hash === ref.hash
        ? undefined
        : `block ${ref.number} is ${header.hash} at ${host}`
    }),
  )
  requireTwo(ref, opinions)
}

async function agreedLogs({ witnesses, ref, filter }: ProveLogsInput): Promise<readonly Log[]> {
  const lists: (readonly Log[])[] = []
  const opinions = await Promise.all(
    witnesses.map(async ({ host, source }) => {
      try {
        const header = await source.header(ref.number)
        if (header?.hash !== ref.hash)
          return `${host} does not know block ${ref.number} as ${ref.hash}`
        lists.push(verifyLogs(header, await source.logsInBlock(filter, ref.hash)))
        return undefined
      } catch (error) {
        return `${host}: ${reasonOf(error)}`
      }
    }),
  )
  requireTwo(ref, opinions)
  const agreeing = [...Map.groupBy(lists, keysOf).values()].filter((each) => each.length >= 2)
  const [agreed] = agreeing
  if (agreed?.[0] === undefined || agreeing.length > 1)
    throw unproven(ref, 'its endpoints return different logs')
  return agreed[0]
}

function requireTwo(ref: BlockRef, opinions: readonly (string | undefined)[]): void {
  const reasons = opinions.filter((each) => each !== undefined)
  if (opinions.length - reasons.length >= 2) return
  throw unproven(ref, ['waiting for a second endpoint to confirm it', ...reasons].join('; '))
}

function keysOf(logs: readonly Log[]): string {
  return JSON.stringify(
    logs.map(({ txIndex, logIndex, txHash, address, topics, data }) => [
      txIndex,
      logIndex,
      txHash,
      address,
      topics,
      data,
    ]),
  )
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function unproven({ number, hash }: BlockRef, reason: string): EndpointError {
  return new EndpointError('unproven', `block ${number} ${hash} is not proven: ${reason}`)
}
