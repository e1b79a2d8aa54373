/** Days; 3650 stands for all. */
export type Period = 7 | 30 | 90 | 365 | 3650

export const PERIODS: readonly Period[] = [7, 30, 90, 365, 3650]

/** What the charts show; it is in the page's address. */
export interface View {
  readonly period: Period
  /** The same number of days before, as a line. */
  readonly isCompared: boolean
  /** What is burned a day on average, and what follows if it stays so. */
  readonly hasRate: boolean
  /** Price and market cap on a scale of powers of ten. */
  readonly isLog: boolean
  /** The price by the hour. */
  readonly isByHour: boolean
}

/** Names in the address, with what says yes. */
const SWITCHES = [
  ['isCompared', 'compare', 'before'],
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
  const isOn = (name: string, yes: string) => query.get(name) === yes
  const [compared, rate, log, hour] = SWITCHES.map(([, name, yes]) => isOn(name, yes))
  return {
    period,
    isCompared: compared ?? false,
    hasRate: rate ?? false,
    isLog: log ?? false,
    isByHour: hour ?? false,
  }
}

export function searchOfView(view: View): string {
  const query = new URLSearchParams({ period: nameOfPeriod(view.period) })
  for (const [member, name, yes] of SWITCHES) if (view[member]) query.set(name, yes)
  return `?${query}`
}

/** Days that must be known for a view. */
export function daysNeeded({ period, isCompared }: Pick<View, 'period' | 'isCompared'>): number {
  return isCompared ? Math.min(3650, 2 * period) : period
}
