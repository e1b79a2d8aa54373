/** One figure that the project promises. */
export interface Promised {
  readonly text: string
  readonly measured: number
  readonly limit: number
  readonly atMost: boolean
}

export function atMost(text: string, measured: number, limit: number): Promised {
  return { text, measured, limit, atMost: true }
}

export function atLeast(text: string, measured: number, limit: number): Promised {
  return { text, measured, limit, atMost: false }
}

/** Prints what is promised of what was measured; gives whether all of it holds. */
export function reportPromised(promised: readonly Promised[]): boolean {
  const known = promised.filter(({ measured }) => Number.isFinite(measured))
  const rows = known.map((each) => [
    holds(each) ? 'pass' : 'FAIL',
    each.text,
    short(each.measured),
    `${each.atMost ? 'at most' : 'at least'} ${each.limit}`,
  ])
  printTable(['', 'must show', 'measured', 'promised'], rows)
  return known.every(holds)
}

function holds({ measured, limit, atMost: most }: Promised): boolean {
  return most ? measured <= limit : measured >= limit
}

/** A line of dashes and the rows below the head, in columns as wide as their longest cell. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const dashes = widths.map((width) => '-'.repeat(width))
  for (const row of [head, dashes, ...rows])
    process.stdout.write(
      `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`,
    )
  process.stdout.write('\n')
}

/** Two digits after the point; whole with commas from a hundred on. */
export function short(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-'
  return value < 100 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US')
}

/** Of an even number of values the lower of the two in the middle; NaN of none. */
export function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.ceil(list.length / 2) - 1] ?? Number.NaN
}

export function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0)
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
