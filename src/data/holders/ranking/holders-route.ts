import { Type } from 'typebox'
import { parseAddress } from '#base/address.ts'
import { isRefusal } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { type Parameter, parsed, type Route } from '#route.ts'
import { dataRoute } from '../../data-route.ts'
import { HOLDERS } from '../../dataset-names.ts'
import { hashOf, OTHER_FILTERS } from '../../event-lists.ts'
import { INVALID_CURSOR, limitParameter } from '../../parameters.ts'
import { refuseElsewhere, type ScopeQuery, scopeParameters } from '../scope.ts'
import { type RankedHolding, readLargest, readSeen } from './queries.ts'
import { holderProperties, leftOutOf, openRanking, showHolder } from './show-holder.ts'

const holderRow = named('Holder', {
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Null if excluded',
  }),
  ...holderProperties,
})

/** The last row of a page, how many it and those before ranked, and the filters. */
interface HolderCursor {
  readonly filters: string
  readonly ranked: number
  readonly after: RankedHolding
}

const holderCursorParameter: Parameter<HolderCursor | undefined> = {
  in: 'query',
  description: 'Continues after a page: its `meta.page.nextCursor`, with the same filters.',
  schema: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1500}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const cursor = decodeCursor(raw)
    return cursor === undefined ? INVALID_CURSOR : parsed(cursor, raw)
  },
}

function encodeCursor({ filters, ranked, after }: HolderCursor): string {
  const text = [filters, ranked, after.balance, after.address].join('.')
  return Buffer.from(text).toString('base64url')
}

/** Sums of balances may be longer than 78 digits. */
const CURSOR = /^([0-9a-f]{16})\.([0-9]{1,15})\.([1-9][0-9]{0,998})\.(0x[0-9a-f]{40})$/

function decodeCursor(raw: string): HolderCursor | undefined {
  const text = Buffer.from(raw, 'base64url').toString('latin1')
  const [, filters = '', ranked, balance = '', own = ''] = CURSOR.exec(text) ?? []
  const address = parseAddress(own)
  if (address === undefined || Buffer.from(text).toString('base64url') !== raw) return undefined
  return { filters, ranked: Number(ranked), after: { address, balance: BigInt(balance) } }
}

export function holdersRoute(ctx: Context): Route {
  const leftOut = leftOutOf(ctx.ecosystem)
  return dataRoute(ctx, {
    path: '/api/holders',
    operationId: 'listHolders',
    tag: 'Holders',
    summary: 'Holders by balance',
    description:
      'Who holds a token, largest balance first, equal ones by address in descending order, over all chains or on one. Burn addresses and those that do not circulate are marked and have no rank.',
    parameters: {
      limit: limitParameter(20),
      ...scopeParameters(ctx.ecosystem),
      cursor: holderCursorParameter,
    },
    data: Type.Array(holderRow),
    paged: true,
    csv: { row: holderRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    check({ cursor, ...asked }) {
      const refused = refuseElsewhere(asked)
      if (refused !== undefined || cursor === undefined) return refused
      return cursor.filters === filtersOf(asked) ? undefined : OTHER_FILTERS
    },
    async read({ connection, status, parameters: { limit, cursor, ...asked } }) {
      const opened = await openRanking(connection, status, asked)
      if (isRefusal(opened)) return opened
      const { scope, supply } = opened
      const found = await readLargest(connection, scope, {
        limit: limit + 1,
        after: cursor?.after,
      })
      const rows = found.slice(0, limit)
      const addresses = rows.map(({ address }) => address)
      const seen = await readSeen(connection, scope, addresses)
      let ranked = cursor?.ranked ?? 0
      const data = rows.map((each) => {
        const { token } = asked
        const shown = showHolder(each, { token, supply, seen: seen.get(each.address), leftOut })
        if (!shown.excluded) ranked += 1
        return { rank: shown.excluded ? null : ranked, ...shown }
      })
      const last = rows.at(-1)
      const isMore = found.length > limit && last !== undefined
      const nextCursor = isMore
        ? encodeCursor({ filters: filtersOf(asked), ranked, after: last })
        : null
      return { data, page: { limit, count: data.length, nextCursor } }
    },
  })
}

function filtersOf({ token, chain }: ScopeQuery): string {
  return hashOf([HOLDERS, token.symbol, chain?.name])
}
