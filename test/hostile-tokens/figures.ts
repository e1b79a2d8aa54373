/**
 * What is compared, by a name that says where it stands, such as `burn base 17 #0`. The order is
 * that of the most telling difference: a chain that stands still explains all others.
 */
export type Figures = ReadonlyMap<string, string>

export const figureKinds = [
  'stalled',
  'position',
  'burns',
  'dividends',
  'total',
  'balance',
  'supply',
  'holders',
  'anomalies',
  'api',
] as const

export type FigureKind = (typeof figureKinds)[number]

/** Collects figures under names that begin with their kind. */
export class FigureList {
  readonly figures = new Map<string, string>()

  add(kind: FigureKind, place: string, figure: string): void {
    this.figures.set(`${kind} ${place}`, figure)
  }
}

export interface FigureDifference {
  readonly name: string
  readonly recounted: string
  readonly registered: string
}

/** Differences of one kind each, the most telling kind first. */
export function differencesOf(
  recounted: Figures,
  registered: Figures,
): readonly FigureDifference[] {
  const names = [...new Set([...recounted.keys(), ...registered.keys()])]
  return figureKinds.flatMap((kind) => {
    const name = names.find(
      (each) => each.startsWith(`${kind} `) && recounted.get(each) !== registered.get(each),
    )
    if (name === undefined) return []
    const shown = (figures: Figures) => figures.get(name) ?? 'nothing'
    return [{ name, recounted: shown(recounted), registered: shown(registered) }]
  })
}

/** One row of a dataset. */
export interface EventFigure {
  readonly dataset: 'burns' | 'dividends'
  readonly chain: string
  readonly block: number
  /** Unknown where the node counts logs by transaction: then only the order is compared. */
  readonly logIndex: number | null
  readonly kind: string
  readonly token: string
  readonly account: string | null
  readonly amount: bigint
  readonly usd: bigint | null
}

/** Adds rows that stand in the order of the chain, each named by its order in its block. */
export function addEvents(list: FigureList, events: readonly EventFigure[]): void {
  const counts = new Map<string, number>()
  for (const { dataset, chain, block, ...event } of events) {
    const ofBlock = `${dataset} ${chain} ${block}`
    const order = counts.get(ofBlock) ?? 0
    counts.set(ofBlock, order + 1)
    const { kind, amount, token, account, usd, logIndex } = event
    const text = `${kind} of ${amount} ${token} by ${account}, worth ${usd} micro-dollars`
    const at = logIndex === null ? '' : `, log ${logIndex}`
    list.add(dataset, `${chain} ${block} #${order}`, `${text}${at}`)
  }
}

export function totalText(total: {
  readonly amount: bigint
  readonly usd: bigint
  readonly events: number
  readonly priced: number
}): string {
  const { amount, usd, events, priced } = total
  return `${events} events of ${amount}, ${priced} of them worth ${usd} micro-dollars`
}

export function supplyText(supply: {
  readonly minted: bigint
  readonly total: bigint
  readonly circulating: bigint
}): string {
  const { minted, total, circulating } = supply
  return `${minted} minted, ${total} in supply, ${circulating} circulating`
}
