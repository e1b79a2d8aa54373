import { addEvents, type EventFigure, FigureList, type Figures, totalText } from '../figures.ts'
import type { WorldPlan } from '../world-plan.ts'
import type { CanonicalBlock, CanonicalChain } from './canonical-chain.ts'
import { addApiFigures } from './recount-api.ts'
import { recountPayouts } from './recount-payouts.ts'
import { type PriceRecord, recordPrices } from './recount-prices.ts'
import { addHoldings, burnsOn, hasUnreadable, summarise, trackedTokens } from './recount-tokens.ts'

export interface RecountInput {
  readonly chains: readonly CanonicalChain[]
  readonly plan: WorldPlan
}

/** Every figure that the logs of the canonical chains give, by loops over them. */
export function recount(input: RecountInput): Figures {
  const { chains } = input
  const base = chains.find(({ name }) => name === 'base')
  if (base === undefined) throw new RangeError('prices and payments are on base')
  const prices = recordPrices(base, input.plan)
  const list = new FigureList()
  list.add('stalled', 'chains', 'none')
  for (const chain of chains) {
    list.add('position', chain.name, chain.blocks.at(-1)?.hash ?? 'nothing')
    addChain(list, chain, { ...input, prices })
  }
  for (const token of trackedTokens) addHoldings(list, token, input)
  addApiFigures(
    list,
    trackedTokens.map((token) => summarise(token, input)),
    input.plan,
  )
  return list.figures
}

interface ChainInput extends RecountInput {
  readonly prices: PriceRecord
}

function addChain(list: FigureList, chain: CanonicalChain, input: ChainInput): void {
  const payouts = recountPayouts(chain, input.plan).map((payout) => ({
    ...payout,
    dataset: 'dividends' as const,
    isCounted: payout.kind === 'claim',
  }))
  const burns = burnsOn(chain).map((burn) => ({
    ...burn,
    dataset: 'burns' as const,
    isCounted: true,
  }))
  for (const events of [burns, payouts]) {
    const figures = events.map((event) => ({ ...event, ...figureOf(chain, event, input) }))
    addEvents(list, figures)
    addTotals(
      list,
      figures.filter(({ isCounted }) => isCounted),
    )
  }
  for (const block of chain.blocks)
    if (hasUnreadable(chain, block)) list.add('anomalies', `${chain.name} ${block.number}`, 'yes')
}

function figureOf(
  chain: CanonicalChain,
  event: {
    readonly block: CanonicalBlock
    readonly place: number
    readonly token: string
    readonly amount: bigint
  },
  { plan, prices }: ChainInput,
): Pick<EventFigure, 'chain' | 'block' | 'logIndex' | 'usd'> {
  const { block, place, token, amount } = event
  return {
    chain: chain.name,
    block: block.number,
    logIndex: plan.features.has('indexes-by-transaction') ? null : place,
    usd: prices.valueOf(token, amount, { chainId: chain.id, block }),
  }
}

/** Sums per token of one dataset on one chain. */
function addTotals(list: FigureList, events: readonly EventFigure[]): void {
  const totals = new Map<string, Parameters<typeof totalText>[0]>()
  for (const { dataset, chain, token, amount, usd } of events) {
    const place = `${dataset} ${token} ${chain}`
    const sum = totals.get(place) ?? { amount: 0n, usd: 0n, events: 0, priced: 0 }
    totals.set(place, {
      amount: sum.amount + amount,
      usd: sum.usd + (usd ?? 0n),
      events: sum.events + 1,
      priced: sum.priced + (usd === null ? 0 : 1),
    })
  }
  for (const [place, sum] of totals) list.add('total', place, totalText(sum))
}
