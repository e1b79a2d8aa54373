/** Days; 3650 stands for all. */
export type Period = 7 | 30 | 90 | 365 | 3650

export const PERIODS: readonly Period[] = [7, 30, 90, 365, 3650]

/** What the charts show; it is in the page's address. */
export interface View {
  readonly period: Period
  /** What is burned a day on average. */
  readonly hasRate: boolean
}

/** As the API names it. */
export function nameOfPeriod(period: Period): string {
  return period === 3650 ? 'all' : `${period}d`
}

export function viewIn(search: string, usual: Period): View {
  const query = new URLSearchParams(search)
  const period = PERIODS.find((each) => nameOfPeriod(each) === query.get('period')) ?? usual
  return { period, hasRate: query.get('rate') === '30d' }
}

export function searchOfView({ period, hasRate }: View): string {
  return `?period=${nameOfPeriod(period)}${hasRate ? '&rate=30d' : ''}`
}
