import type { Change, Position } from '#chains/indexer/dataset.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { startOfDay, startOfHour } from '#lib/time.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import { hourKey, type Movement, movesAny, type OpenedHour, type Step } from './movement.ts'

/** Keyed by `token|address`; those of zero are absent. */
export type Balances = ReadonlyMap<string, HeldBalance>

interface HeldBalance {
  readonly balance: bigint
  /** Null for addresses that are no holders. */
  readonly sinceUnix: number | null
  /** The UTC day of the last transfer of more than zero, since history may be dated by the day. */
  readonly lastUnix: number
}

/** The days of the last transfers after a change, by `token|address`; null where nothing is held. */
type LastMoves = ReadonlyMap<string, number | null>

/** The first UTC day of the current span, by `token|address`. */
export type HoldersSince = ReadonlyMap<string, number>

export async function readBalances(
  change: Change,
  movements: readonly Movement[],
): Promise<Balances> {
  const balances = new Map<string, HeldBalance>()
  for (const part of chunks(movements, ROWS_PER_STATEMENT)) {
    const found = await change.connection.run(sql`
      select token, address, balance, since_unix, last_unix from balances
      where chain_id = ${change.chainId} and ${inKeys(
        { token: 'text', address: 'text' },
        part.map(({ token, address }) => [token, address]),
      )}`)
    for (const row of found)
      balances.set(`${row.token}|${row.address}`, {
        balance: column.bigint(row, 'balance'),
        sinceUnix: column.integerOrNull(row, 'since_unix'),
        lastUnix: column.integer(row, 'last_unix'),
      })
  }
  return balances
}

/** Zero balances have no row. */
export async function moveBalances(
  change: Change,
  movements: readonly Movement[],
  {
    before,
    since,
    last,
  }: { readonly before: Balances; readonly since: HoldersSince; readonly last: LastMoves },
): Promise<void> {
  const after = movements
    .filter(({ address }) => address !== ZERO_ADDRESS)
    .map((movement) => {
      const key = `${movement.token}|${movement.address}`
      const balance = balanceAfter(movement, before)
      return {
        ...movement,
        balance,
        sinceUnix: balance > 0n ? (since.get(key) ?? null) : null,
        lastUnix: last.get(key) ?? 0,
      }
    })
  const emptied = after.filter(({ balance }) => balance === 0n)
  for (const part of chunks(emptied, ROWS_PER_STATEMENT)) await deleteBalances(change, part)
  await writeBalances(
    change,
    after.filter(({ balance }) => balance !== 0n),
  )
}

function balanceAfter(movement: Movement, before: Balances): bigint {
  const { token, address, steps } = movement
  let balance = before.get(`${token}|${address}`)?.balance ?? 0n
  for (const step of steps) balance += step.received - step.sent
  return balance
}

export function lastMovesAfter(movements: readonly Movement[], before: Balances): LastMoves {
  return new Map(
    movements.map(({ token, address, steps }) => {
      const key = `${token}|${address}`
      const last = steps.findLast(movesAny)
      return [key, last ? startOfDay(last.timestamp) : (before.get(key)?.lastUnix ?? null)]
    }),
  )
}

async function deleteBalances(change: Change, emptied: readonly Movement[]): Promise<void> {
  const keys = emptied.map(({ token, address }) => [token, address])
  await change.connection.run(sql`
    delete from balances where chain_id = ${change.chainId}
      and ${inKeys({ token: 'text', address: 'text' }, keys)}`)
}

async function writeBalances(
  change: Change,
  kept: readonly (Movement & HeldBalance)[],
): Promise<void> {
  const list = kept.map(({ token, address, balance, sinceUnix, lastUnix }) => [
    token,
    address,
    change.chainId,
    toStored(balance),
    sinceUnix,
    lastUnix,
  ])
  await change.connection.insert(BALANCES, list)
}

const BALANCES: BulkInsert = {
  table: 'balances',
  columns: {
    token: 'text',
    address: 'text',
    chain_id: 'bigint',
    balance: 'text',
    since_unix: 'bigint',
    last_unix: 'bigint',
  },
  conflict: `on conflict (token, address, chain_id) do update set balance = excluded.balance,
    since_unix = excluded.since_unix, last_unix = excluded.last_unix`,
}

/** Recorded for blocks that are not final, so that they can be reverted. */
export async function storeDeltas(
  change: Change,
  movements: readonly Movement[],
  { before, opened }: { readonly before: Balances; readonly opened: ReadonlySet<string> },
): Promise<void> {
  const list = movements.flatMap((movement) => {
    const { token, address, steps } = movement
    const newest = steps.at(-1)
    if (newest === undefined || newest.blockNumber <= change.finalizedNumber) return []
    const last = lastMovesBefore(movement, before.get(`${token}|${address}`))
    const opens = opensHours(movement, opened)
    return steps.flatMap((step, index) =>
      step.blockNumber <= change.finalizedNumber
        ? []
        : [
            [
              change.chainId,
              step.blockNumber,
              token,
              address,
              step.timestamp,
              toStored(step.received),
              toStored(step.sent),
              toStored(step.kept),
              last[index] ?? null,
              opens[index] === true ? 1 : 0,
            ],
          ],
    )
  })
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      insert into balance_deltas
        (chain_id, block_number, token, address, timestamp_unix, received, sent, kept,
          last_unix, opens_hour)
      values ${rows(part)}`)
}

/** Returns each step's last move before it; the zero address has no balance. */
function lastMovesBefore(
  { address, steps }: Movement,
  before: HeldBalance | undefined,
): readonly (number | null)[] {
  if (address === ZERO_ADDRESS) return []
  let { balance, lastUnix } = before ?? { balance: 0n, lastUnix: 0 }
  return steps.map((step) => {
    const last = balance === 0n ? null : lastUnix
    balance += step.received - step.sent
    if (movesAny(step)) lastUnix = startOfDay(step.timestamp)
    return last
  })
}

/** Tells of each step whether it is the first of an hour that had no row. */
function opensHours(
  { token, address, steps }: Movement,
  opened: ReadonlySet<string>,
): readonly boolean[] {
  let last = -1
  return steps.map((step) => {
    const hourUnix = startOfHour(step.timestamp)
    if (!movesAny(step) || hourUnix === last) return false
    last = hourUnix
    return opened.has(hourKey({ token, address, hourUnix }))
  })
}

/**
 * Removes the deltas above the ancestor; returns their inverse, the last moves before them, and the
 * hours that they opened.
 */
export async function takeDeltas(
  change: Change,
  ancestor: Position,
): Promise<{
  readonly undone: readonly Movement[]
  readonly last: LastMoves
  readonly opened: readonly OpenedHour[]
}> {
  const removed = await change.connection.run(sql`
    delete from balance_deltas
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}
    returning token, address, block_number, timestamp_unix, received, sent, kept,
      last_unix, opens_hour`)
  const groups = Map.groupBy(removed, (row) => `${row.token}|${row.address}`)
  const last = new Map<string, number | null>()
  const undone = [...groups].flatMap(([key, group]) => {
    const number = (row: Row) => column.integer(row, 'block_number')
    const [first] = group.sort((a, b) => number(a) - number(b))
    if (first === undefined) return []
    last.set(key, column.integerOrNull(first, 'last_unix'))
    const steps = group.map<Step>((row) => ({
      blockNumber: column.integer(row, 'block_number'),
      timestamp: column.integer(row, 'timestamp_unix'),
      received: -column.bigint(row, 'received'),
      sent: -column.bigint(row, 'sent'),
      kept: -column.bigint(row, 'kept'),
    }))
    return [{ token: column.text(first, 'token'), address: column.hex(first, 'address'), steps }]
  })
  const opened = removed
    .filter((row) => column.flag(row, 'opens_hour'))
    .map((row) => ({
      token: column.text(row, 'token'),
      address: column.hex(row, 'address'),
      hourUnix: startOfHour(column.integer(row, 'timestamp_unix')),
    }))
  return { undone, last, opened }
}

export async function forgetDeltas(
  connection: Connection,
  chainId: number,
  finalizedNumber: number,
): Promise<void> {
  await connection.run(sql`
    delete from balance_deltas
    where chain_id = ${chainId} and block_number <= ${finalizedNumber}`)
}
