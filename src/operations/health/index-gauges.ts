import type { GaugeReading } from '#api/metrics.ts'
import type { EndpointStatus } from '#chains/chain/chain-source.ts'
import { answersOf } from '#chains/datasets/data-route.ts'
import { readStalls } from '#chains/indexer/chain-notes.ts'
import { readMappingAnomalies } from '#chains/indexer/mappings.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import { unixNow } from '#lib/time.ts'
import type { IndexProgress } from './index-progress.ts'

export function registerGauges(ctx: Context): readonly GaugeReading[] {
  const { clock, ecosystem, register } = ctx
  const recentStatus = async () => (await answersOf(ctx).state())?.status
  return [
    {
      name: 'sexton_chain_lag_seconds',
      help: 'Age of the newest indexed block, by chain',
      read: async () =>
        ofChains(await recentStatus(), (status) => unixNow(clock) - status.blockTimeUnix),
    },
    {
      name: 'sexton_chain_stale',
      help: '1 while that is more than staleAfterSeconds, by chain',
      read: async () =>
        ofChains(await recentStatus(), ({ blockTimeUnix, chain }) =>
          Number(unixNow(clock) - blockTimeUnix > chain.staleAfterSeconds),
        ),
    },
    {
      name: 'sexton_chain_stalled',
      help: '1 while a chain cannot be read on, by chain',
      async read() {
        const stalls = await register.snapshot(readStalls)
        return Object.fromEntries(
          ecosystem.chains.map(({ id, name }) => [name, Number(stalls.has(id))]),
        )
      },
    },
  ]
}

export function anomalyGauge({
  ecosystem,
  register,
}: Pick<Context, 'ecosystem' | 'register'>): GaugeReading {
  return {
    name: 'sexton_unreadable_logs',
    help: 'Logs that could not be decoded, by chain and mapping',
    async read() {
      const counts: Record<string, number> = {}
      const found = await register.snapshot((reads) => readMappingAnomalies(reads, ecosystem))
      for (const { chain, mapping, logs } of found.filter(({ kind }) => kind === 'unreadable'))
        counts[`${chain} ${mapping}`] = (counts[`${chain} ${mapping}`] ?? 0) + logs
      return counts
    },
  }
}

function ofChains(
  index: IndexStatus | undefined,
  read: (status: IndexStatus['chains'][number]) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries((index?.chains ?? []).map((each) => [each.chain.name, read(each)]))
}

export function endpointGauges(indexing: () => readonly IndexProgress[]): readonly GaugeReading[] {
  const gauge = (name: string, help: string, pick: (each: EndpointStatus) => number) => ({
    name: `sexton_endpoint_${name}`,
    help: `${help}, by chain and host`,
    read: async () =>
      Object.fromEntries(
        indexing().flatMap(({ chain, endpoints }) =>
          endpoints.map((each) => [`${chain} ${each.host}`, pick(each)] as const),
        ),
      ),
  })
  return [
    gauge('well', '1 while the endpoint is in use, 0 while it is set aside', (each) =>
      Number(each.state === 'ok'),
    ),
    gauge('requests', 'Requests since the start', (each) => each.requests),
  ]
}
