import { type TObject, Type } from 'typebox'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { ListedEvent } from '#chains/indexer/events/list-events.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import type { Route } from '#route/route.ts'
import { type DataDeps, dataRoute } from './data-route.ts'
import { checkList, eventMembers, listParameters, readEventPage } from './event-rows.ts'
import { walletParameter } from './parameters.ts'

/** The list of a kind's newest events; the stream shows the same rows. */
export interface EventList {
  readonly kind: {
    readonly dataset: string
    readonly tag: { readonly name: string }
    /** What the wallet of an event did. */
    readonly deed: string
  }
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly row: TObject
  /** Members of a row besides those that every event has. */
  own(event: ListedEvent): object
}

export function listRoute(deps: DataDeps, list: EventList): Route {
  const { kind, path, operationId, summary, description, row } = list
  const { dataset, tag, deed } = kind
  return dataRoute(deps, {
    path,
    operationId,
    tag: tag.name,
    summary,
    description,
    parameters: {
      ...listParameters(deps.ecosystem),
      address: walletParameter(`Only events of this wallet, which ${deed}.`),
    },
    datasets: () => [dataset],
    data: Type.Array(row),
    paged: true,
    csv: { row, rows: (data) => data as readonly object[] },
    refusals: ['invalid_address', 'invalid_cursor'],
    check: ({ address: account, ...values }) => checkList({ dataset, account, values }),
    async read({ connection, status, parameters: { address: account, ...values } }) {
      const { events, page } = await readEventPage(connection, { status, dataset, account, values })
      const place = { status, ecosystem: deps.ecosystem }
      return { data: events.map((event) => toListRow(list, event, place)), page }
    },
  })
}

export function toListRow(
  list: EventList,
  event: ListedEvent,
  { status, ecosystem }: { readonly status: IndexStatus; readonly ecosystem: Ecosystem },
): object {
  return { ...eventMembers(event, status, ecosystem), ...list.own(event) }
}
