import { PUBLIC_ID } from '#domain/caller.ts'
import { MOVEMENT_KINDS } from '#money/statements/statement-shape.ts'
import type { TextRow } from './read-statement-file.ts'

const KINDS: ReadonlySet<string> = new Set(MOVEMENT_KINDS)

export interface Claimed {
  readonly publicId: string
  /** Midnights (UTC). */
  readonly from: number
  readonly to: number
}

export function isMovement({ row = '' }: TextRow): boolean {
  return KINDS.has(row)
}

/** Key and period of a statement, or what is missing. */
export function claimedBy(rows: readonly TextRow[]): Claimed | string {
  const only = (name: string) => {
    const found = rows.filter(({ row }) => row === name)
    return found.length === 1 ? found[0] : undefined
  }
  const publicId = only('key')?.id ?? ''
  const from = Date.parse(`${only('opening')?.date}T00:00:00Z`) / 1000
  const to = Date.parse(`${only('closing')?.date}T00:00:00Z`) / 1000
  if (!PUBLIC_ID.test(publicId)) return 'it does not name one key'
  if (!(from < to)) return 'it does not name one period'
  return { publicId, from, to }
}

/** What does not add up. */
export function checkArithmetic(rows: readonly TextRow[]): readonly string[] {
  const movements = rows.filter(isMovement)
  const [opening, closing] = ['opening', 'closing'].map((name) =>
    amountOf(rows.find(({ row }) => row === name)),
  )
  const sum = movements.reduce((total, row) => total + amountOf(row), opening ?? 0n)
  const wrong =
    sum === closing
      ? []
      : [`the opening balance and all movements are ${sum}, but the closing balance is ${closing}`]
  const ids = movements.map(({ id }) => id ?? '')
  const first = rows.find(({ row }) => row === 'opening')?.date ?? ''
  const end = rows.find(({ row }) => row === 'closing')?.date ?? ''
  for (const [index, row] of movements.entries()) {
    const { id = '', date = '' } = row
    if (ids.indexOf(id) < index) wrong.push(`${id} is listed twice`)
    if (date < first || date >= end) wrong.push(`${id} is of ${date}, outside the period`)
    wrong.push(...checkPrice(row))
  }
  return wrong
}

function checkPrice({ row, id, calls, priceMicroUsd, ...rest }: TextRow): readonly string[] {
  if (row !== 'charges' && row !== 'refund') return []
  const cost = toAmount(calls) * toAmount(priceMicroUsd)
  const amount = amountOf(rest)
  return amount === (row === 'charges' ? -cost : cost)
    ? []
    : [`${id}: ${calls} calls at ${priceMicroUsd} are ${cost}, not ${amount}`]
}

function amountOf(row: TextRow | undefined): bigint {
  return toAmount(row?.amountMicroUsd)
}

function toAmount(text: string | undefined): bigint {
  return /^-?\d+$/.test(text ?? '') ? BigInt(text ?? 0) : 0n
}
