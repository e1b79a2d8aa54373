/** Days; 3650 stands for all. */
export type Period = 7 | 30 | 90 | 365 | 3650

export const PERIODS: readonly Period[] = [7, 30, 90, 365, 3650]

/** What the charts show; it is in the page's address. */
export interface View {
  readonly period: Period
  /** What is burned a day on average. */
  readonly hasRate: boolean
  /** Price and market cap on a scale of powers of ten. */
  readonly isLog: boolean
  /** The price by the hour. */
  readonly isByHour: boolean
}

/** Names in the address, with what says yes. */
const SWITCHES = [
  ['hasRate', 'rate', '30d'],
  ['isLog', 'scale', 'log'],
  ['isByHour', 'interval', 'hour'],
] as const

/** As the API names it. */
export function nameOfPeriod(period: Period): string {
  return period === 3650 ? 'all' : `${period}d`
}

export function viewIn(search: string, usual: Period): View {
  const query = new URLSearchParams(search)
  const period = PERIODS.find((each) => nameOfPeriod(each) === query.get('period')) ?? usual
  const [hasRate = false, isLog = false, isByHour = false] = SWITCHES.map(
    ([, name, yes]) => query.get(name) === yes,
  )
  return { period, hasRate, isLog, isByHour }
}

export function searchOfView(view: View): string {
  const query = new URLSearchParams({ period: nameOfPeriod(view.period) })
  for (const [member, name, yes] of SWITCHES) if (view[member]) query.set(name, yes)
  return `?${query}`
}
