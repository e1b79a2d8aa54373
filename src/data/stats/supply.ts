import { Type } from 'typebox'
import { type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { answersOf } from '#data/data-route.ts'
import {
  chainsOf,
  refuseElsewhere,
  type ScopeQuery,
  scopeParameters,
  whyUnknown,
} from '#data/holders/endpoints.ts'
import { circulatingOf, readTotalSupply, totalSupplyOf } from '#data/holders/queries.ts'
import {
  amounts,
  amountText,
  buildMeta,
  metaSchema,
  type RegisterState,
  rawText,
} from '#data/meta.ts'
import type { Connection } from '#db/engine.ts'
import { conditionOf } from '#index/status.ts'
import {
  type Answer,
  answer,
  defineRoute,
  type Effective,
  JSON_TYPE,
  preferredType,
  type Route,
  TEXT_TYPE,
} from '#route.ts'

const FIGURES = {
  total: {
    of: totalSupplyOf,
    what: 'Total supply: the sum of all balances, what burn addresses hold included',
  },
  circulating: {
    of: circulatingOf,
    what: 'Circulating supply: the total without what burn addresses and `supply.nonCirculating` hold',
  },
} as const

type FigureName = keyof typeof FIGURES

/** Listing sites ask every minute. */
const CACHED = { 'Cache-Control': 'private, max-age=30' }

/** Plain numbers as listing sites read them: documents, free and the same for everyone. */
export function supplyRoutes(ctx: Context): readonly Route[] {
  return [supplyRoute(ctx, 'total'), supplyRoute(ctx, 'circulating')]
}

function supplyRoute(ctx: Context, figure: FigureName): Route {
  const operationId = figure === 'total' ? 'getTotalSupply' : 'getCirculatingSupply'
  const { what } = FIGURES[figure]
  return defineRoute({
    method: 'GET',
    path: `/api/supply/${figure}`,
    operationId,
    tag: 'Statistics',
    summary: figure === 'total' ? 'Total supply as a number' : 'Circulating supply as a number',
    description: `${what}, in token units, as /api/stats has it: the number alone as text/plain, or JSON by \`Accept: application/json\`. Never metered, at most a minute old. While it is not known, or a chain of the token is not up to date, it is 503.`,
    metered: false,
    open: true,
    plain: true,
    parameters: scopeParameters(ctx.ecosystem),
    answers: { 200: { description: what, schema: shape } },
    refusals: ['data_not_ready'],
    check: ({ parameters }) => refuseElsewhere(parameters),
    handle({ parameters, effective, question, headers }) {
      const type = preferredType(headers.accept?.toString(), [TEXT_TYPE, JSON_TYPE])
      const representation = type === JSON_TYPE ? 'json' : 'text'
      const asked = { ...parameters, figure, type, query: effective }
      return answersOf(ctx).answer(
        { operationId, parameters: question, representation },
        (state, connection) => readSupply(ctx, connection, { ...asked, state }),
      )
    },
  })
}

const shape = Type.Object({
  data: named('Supply', {
    token: Type.String(),
    chain: Type.String({ description: 'A name, or `all`' }),
    supply: amountText,
    supplyRaw: rawText,
  }),
  meta: metaSchema,
})

interface Wanted extends ScopeQuery {
  readonly figure: FigureName
  readonly type: string
  readonly query: Readonly<Record<string, Effective>>
  readonly state: RegisterState
}

async function readSupply(
  { ecosystem }: Context,
  connection: Connection,
  asked: Wanted,
): Promise<Answer | Refusal> {
  const { figure, token, chain, type, query, state } = asked
  const { status, nowUnix } = state
  const unknown = whyUnknown(status, asked)
  if (unknown !== undefined) return notReady(unknown)
  const old = chainsOf(status, asked).find((each) => conditionOf(each, nowUnix) !== 'live')
  // A number alone cannot say that it is old.
  if (old !== undefined) return notReady(`The index of ${old.chain.name} is not up to date.`)
  const supply = FIGURES[figure].of(await readTotalSupply(connection, token.symbol, chain?.id))
  const data = {
    token: token.symbol,
    chain: chain?.name ?? 'all',
    ...amounts('supply', supply, token.decimals),
  }
  const more = { contentType: type, headers: CACHED }
  if (type === TEXT_TYPE) return answer(200, data.supply, more)
  return answer(200, JSON.stringify({ data, meta: buildMeta(ecosystem, state, query) }), more)
}

function notReady(message: string): Refusal {
  return refuse('data_not_ready', message)
}
