import { Type } from 'typebox'
import { JSON_TYPE, preferredType, TEXT_TYPE } from '#api/http/accept.ts'
import type { DataDeps } from '#chains/datasets/data-route.ts'
import { circulatingOf, readTotalSupply, totalSupplyOf } from '#chains/datasets/holders/queries.ts'
import {
  chainsOf,
  refuseElsewhere,
  type ScopeQuery,
  scopeParameters,
  whyUnknown,
} from '#chains/datasets/holders/scope.ts'
import { buildMeta, metaSchema, revisionAt } from '#chains/datasets/meta.ts'
import { amounts, amountText, rawText } from '#chains/datasets/wire.ts'
import { notConfigured } from '#chains/ecosystem/ecosystem.ts'
import { conditionOf, readIndexStatus } from '#chains/indexer/status.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { unixNow } from '#lib/time.ts'
import type { Effective } from '#route/parameter.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'

const FIGURES = {
  total: { of: totalSupplyOf, what: 'Total supply: everything minted and not burned' },
  circulating: {
    of: circulatingOf,
    what: 'Circulating supply: the total without what addresses hold that do not circulate',
  },
} as const

type FigureName = keyof typeof FIGURES

/** Listing sites ask every minute. */
const CACHED = { 'Cache-Control': 'private, max-age=30' }

/** Plain numbers as listing sites read them: documents, free and the same for everyone. */
export function supplyRoutes(deps: DataDeps): readonly Route[] {
  return [supplyRoute(deps, 'total'), supplyRoute(deps, 'circulating')]
}

function supplyRoute(deps: DataDeps, figure: FigureName): Route {
  const { ecosystem, answers } = deps
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
    parameters: scopeParameters(ecosystem),
    answers: { 200: { description: what, schema: shape } },
    refusals: ['data_not_ready'],
    check: ({ parameters }) => refuseElsewhere(parameters),
    async handle({ parameters, effective, question, headers }) {
      const type = preferredType(headers.accept?.toString(), [TEXT_TYPE, JSON_TYPE])
      const make = () => readSupply(deps, { ...parameters, figure, type, query: effective })
      const state = await answers.state()
      if (state === undefined) return make()
      const representation = type === JSON_TYPE ? 'json' : 'text'
      return answers.get({ operationId, parameters: question, representation }, state, make)
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
}

function readSupply(deps: DataDeps, asked: Wanted): Promise<Answer | Refusal> {
  const { register, ecosystem, file, clock } = deps
  const { figure, token, chain, type, query } = asked
  return register.snapshot(async (connection) => {
    const status = await readIndexStatus(connection, ecosystem.chains, file)
    if (status === undefined) return notReady('The index has not read its first blocks yet.')
    const nowUnix = unixNow(clock)
    const unknown = whyUnknown(file, status, asked)
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
    const more = { contentType: type, headers: CACHED, revision: revisionAt(status, nowUnix) }
    if (type === TEXT_TYPE) return answer(200, data.supply, more)
    const { tokens } = ecosystem
    const facts = { notConfigured: notConfigured(ecosystem), tokens, query, file }
    const meta = buildMeta(status, nowUnix, facts)
    return answer(200, JSON.stringify({ data, meta }), more)
  })
}

function notReady(message: string): Refusal {
  return refuse('data_not_ready', message)
}
