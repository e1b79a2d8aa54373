import { type EventPart, type EventSources, eventKinds } from '#data/kinds.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Sql, sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EventSource } from '#ecosystem/event-source.ts'
import type { LogProblem } from '#index/dataset.ts'
import { describeMisfit } from '#index/decode-event.ts'

export interface Mapping {
  /** Such as `burns[0]`. */
  readonly name: string
  readonly dataset: string
  readonly source: EventSource
}

export function listMappings(sources: EventSources): readonly Mapping[] {
  return eventKinds.flatMap(({ part, dataset }) =>
    sources[part].map((source, index) => ({ name: `${part}[${index}]`, dataset, source })),
  )
}

/** Logs of a mapping that add no figure. */
export interface MappingAnomalies {
  /** Names the mappings of the contract or, where known, of the reason, such as `burns[0]`; the dataset if the file does not map its logs. */
  readonly mapping: string
  readonly chain: string
  readonly kind: LogProblem['kind']
  readonly reason: string
  readonly logs: number
  readonly lastBlock: number
}

export function describeAnomalies({ logs, lastBlock, reason, kind }: MappingAnomalies): string {
  const what = kind === 'unlisted' ? 'are of unlisted tokens' : 'could not be decoded'
  return `${logs} logs ${what}, the last in block ${lastBlock}: ${reason}`
}

/** A contract can cause any number. */
const REASONS_MAX = 100

/** A wrong mapping leaves millions. */
const LOGS_MAX = 10_000

/** Apart, so that what strangers cause does not hide the rest. */
function newest(kind: LogProblem['kind']): Sql {
  return sql`
    select chain_id, dataset, contract, kind, reason, block_number from anomalies
    where kind = ${kind} order by chain_id desc, block_number desc limit ${LOGS_MAX}`
}

/** Reads anomalies on the file's chains. */
export async function readMappingAnomalies(
  connection: Connection,
  ecosystem: Pick<Ecosystem, EventPart | 'chains'>,
): Promise<readonly MappingAnomalies[]> {
  const rows = await connection.run(sql`
    select chain_id, dataset, contract, kind, reason, count(*) as logs,
      max(block_number) as last_block
    from (
      select * from (${newest('unreadable')}) as unreadable
      union all select * from (${newest('unlisted')}) as unlisted
    ) as newest group by chain_id, dataset, contract, kind, reason
    order by logs desc, chain_id, dataset, contract, reason limit ${REASONS_MAX}`)
  const mappings = listMappings(ecosystem)
  return rows.flatMap((row) => {
    const chain = ecosystem.chains.find(({ id }) => id === column.integer(row, 'chain_id'))
    if (chain === undefined) return []
    const reason = column.text(row, 'reason')
    const ofContract = mappings.filter(
      ({ dataset, source }) =>
        dataset === row.dataset &&
        source.chain.id === chain.id &&
        (source.address === row.contract || source.made !== undefined),
    )
    const ofReason = ofContract.filter(
      ({ source }) =>
        reason === describeMisfit(source) || reason.startsWith(`${source.code?.file}: `),
    )
    const names = (ofReason.length > 0 ? ofReason : ofContract).map(({ name }) => name)
    return {
      mapping: names.join(', ') || column.text(row, 'dataset'),
      chain: chain.name,
      kind: row.kind === 'unlisted' ? 'unlisted' : 'unreadable',
      reason,
      logs: column.integer(row, 'logs'),
      lastBlock: column.integer(row, 'last_block'),
    }
  })
}
