export interface NewestRow {
  readonly id: string
  readonly timestampUnix: number
}

export const NEWEST_ROWS = 14

/** The newest rows of several lists together, each list at least this long or whole. */
export function newestOf<Row extends NewestRow>(
  lists: readonly (readonly Row[])[],
): readonly Row[] {
  return lists
    .flat()
    .sort((a, b) => b.timestampUnix - a.timestampUnix || (a.id < b.id ? 1 : -1))
    .slice(0, NEWEST_ROWS)
}
