import type { EndpointStatus } from '#chains/chain/chain-source.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Connection, Engine, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'

export const nodeStatesMigration: Migration = {
  id: 2080,
  name: 'states of nodes',
  sql: `
    create table node_states (
      chain_id bigint not null,
      position bigint not null,
      host text not null,
      state text not null,
      reason text not null,
      noted_unix bigint not null,
      primary key (chain_id, position)
    )`,
}

/** A node as the leading index sees it. */
export interface NodeState {
  readonly chainId: number
  readonly host: string
  readonly state: string
  readonly reason: string
  readonly notedUnix: number
}

export async function readNodeStates(reads: Connection): Promise<readonly NodeState[]> {
  const found = await reads.run(sql`
    select chain_id, host, state, reason, noted_unix from node_states order by chain_id, position`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    host: column.text(row, 'host'),
    state: column.text(row, 'state'),
    reason: column.text(row, 'reason'),
    notedUnix: column.integer(row, 'noted_unix'),
  }))
}

/** Unchanged states are noted again so often, so that readers see whether an index is at work. */
export const NOTED_SECONDS = 60

interface NodeStatesDeps {
  readonly register: Engine
  readonly clock: Clock
  readonly chainIds: readonly number[]
  endpoints(chainId: number): readonly EndpointStatus[]
}

/** Notes the states of nodes when they have changed, and once a minute. */
export function createNodeStates(deps: NodeStatesDeps): () => Promise<void> {
  let noted: { readonly text: string; readonly atUnix: number } | undefined
  return async () => {
    const states = deps.chainIds.flatMap((chainId) =>
      deps
        .endpoints(chainId)
        .map(({ host, state, reason }, index) => [chainId, index, host, state, reason ?? '']),
    )
    const text = JSON.stringify(states)
    const nowUnix = unixNow(deps.clock)
    if (noted?.text === text && nowUnix - noted.atUnix < NOTED_SECONDS) return
    await deps.register.write((tx) => replace(tx, states, nowUnix))
    noted = { text, atUnix: nowUnix }
  }
}

async function replace(
  tx: Connection,
  states: readonly (readonly (string | number)[])[],
  nowUnix: number,
): Promise<void> {
  await tx.run(sql`delete from node_states`)
  if (states.length === 0) return
  const values = rows(states.map((each) => [...each, nowUnix]))
  await tx.run(sql`
    insert into node_states (chain_id, position, host, state, reason, noted_unix) values ${values}`)
}
