import type { EndpointStatus } from '#chain/chain-source.ts'
import { sleep } from '#lib/sleep.ts'
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

/** As the leading index sees it. */
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

const LOOK_MS = 5_000

/** Unchanged states are noted again so often, so that readers see whether an index is at work. */
export const NOTED_SECONDS = 60

interface NodeStatesDeps {
  readonly register: Engine
  readonly clock: Clock
  readonly chainIds: readonly number[]
  endpoints(chainId: number): readonly EndpointStatus[]
  isIndexing(): boolean
}

export async function keepNodeStates(deps: NodeStatesDeps, signal: AbortSignal): Promise<void> {
  let noted: { readonly text: string; readonly atUnix: number } | undefined
  while (!signal.aborted) {
    const states = deps.chainIds.flatMap((chainId) =>
      deps
        .endpoints(chainId)
        .map(({ host, state, reason }, index) => [chainId, index, host, state, reason ?? '']),
    )
    const text = JSON.stringify(states)
    const nowUnix = unixNow(deps.clock)
    const isDue = noted?.text !== text || nowUnix - noted.atUnix >= NOTED_SECONDS
    if (deps.isIndexing() && isDue)
      await deps.register
        .write((tx) => replace(tx, states, nowUnix))
        // Written again at the next look.
        .then(
          () => {
            noted = { text, atUnix: nowUnix }
          },
          () => undefined,
        )
    await sleep(LOOK_MS, signal)
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
