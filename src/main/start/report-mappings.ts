import type { Logger } from 'pino'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { readUnmatched } from '#chains/indexer/events/matched-mappings.ts'
import { type Mapping, mappingsOf, readMappingAnomalies } from '#chains/indexer/mappings.ts'
import { countTopics } from '#chains/indexer/name-of-topic.ts'
import type { Engine } from '#store/engine.ts'

interface ReportDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly logger: Pick<Logger, 'warn'>
}

/** Warns about logs that could not be decoded: again whenever there are more. */
export function createAnomalyReport(deps: ReportDeps): () => Promise<void> {
  const reported = new Map<string, number>()
  return async () => {
    const found = await deps.register.snapshot((reads) =>
      readMappingAnomalies(reads, deps.ecosystem),
    )
    for (const anomalies of found) {
      if (anomalies.kind === 'unlisted') continue
      const name = `${anomalies.chain} ${anomalies.mapping} ${anomalies.reason}`
      if ((reported.get(name) ?? 0) >= anomalies.logs) continue
      reported.set(name, anomalies.logs)
      deps.logger.warn(anomalies, 'could not decode logs of a mapping')
    }
  }
}

/** Fits one request to any endpoint, yet shows what a contract emits. */
const RECENT_BLOCKS = 5_000

const TOPICS_MAX = 5

/** Warns about mappings without any log, with what the contract emits. */
export async function reportUnmatched(
  { ecosystem, register, logger }: ReportDeps,
  { chain, source }: { readonly chain: Chain; readonly source: ChainSource },
): Promise<void> {
  const mappings = mappingsOf(ecosystem).filter((each) => each.source.chain.id === chain.id)
  for (const mapping of mappings) {
    const [unmatched] = await register.snapshot((reads) =>
      readUnmatched(reads, mapping.dataset, [mapping.source]),
    )
    if (unmatched === undefined) continue
    logger.warn(
      { chain: chain.name, mapping: mapping.name, emitted: await readTopics(source, mapping) },
      'mapping matched no log: check its event, address and where',
    )
  }
}

/** Sorts the most frequent first. */
async function readTopics(
  source: ChainSource,
  { source: { address, chain } }: Mapping,
): Promise<Readonly<Record<string, number>> | string> {
  try {
    const head = await source.header('latest')
    const to = head?.number ?? chain.startBlock
    const from = Math.max(chain.startBlock, to - RECENT_BLOCKS + 1)
    const filter = { addresses: [address], topics: [] }
    const counts = Object.entries(countTopics(await source.logsInRange(filter, from, to)))
    if (counts.length === 0) return `nothing in the last ${to - from + 1} blocks`
    return Object.fromEntries(counts.slice(0, TOPICS_MAX))
  } catch (error) {
    return `unknown: ${error instanceof Error ? error.message : error}`
  }
}
