import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { chunks } from '#base/chunks.ts'
import { DAY_SECONDS, startOfDay, startOfHour } from '#base/time.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#db/sql.ts'
import { inKeys } from '#db/typed-values.ts'
import type { Change, Position } from '#index/dataset.ts'
import { deleteRows, foldSums, type SumTable } from '#index/fold-sums.ts'

export const MISSHAPEN = 'a transfer has three topics and 32 bytes of data'

interface Step {
  readonly blockNumber: number
  readonly timestamp: number
  received: bigint
  sent: bigint
  /** What the zero address sent to itself: it is minted, and never circulates. */
  kept: bigint
}

/** Anyone can send nothing in another's name. */
function movesAny({ received, sent }: Step): boolean {
  return received !== 0n || sent !== 0n
}

/** Oldest step first; by token and address. */
export interface Movement {
  readonly token: string
  readonly address: Address
  readonly steps: readonly Step[]
}

export interface TransferFact {
  readonly token: string
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly blockNumber: number
  readonly timestamp: number
}

export function collectMovements(transfers: readonly TransferFact[]): readonly Movement[] {
  return [...Map.groupBy(transfers, ({ token }) => token)].flatMap(([token, own]) =>
    [...collectSteps(own)].sort(byAddress).map(([address, steps]) => ({ token, address, steps })),
  )
}

/** Rows in the order of their keys are written fastest. */
function byAddress([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}

function collectSteps(transfers: readonly TransferFact[]): ReadonlyMap<Address, Step[]> {
  const wallets = new Map<Address, Step[]>()
  const stepOf = ({ blockNumber, timestamp }: TransferFact, address: Address): Step => {
    const steps = wallets.get(address)
    const last = steps?.at(-1)
    if (last?.blockNumber === blockNumber) return last
    const step = { blockNumber, timestamp, received: 0n, sent: 0n, kept: 0n }
    if (steps === undefined) wallets.set(address, [step])
    else steps.push(step)
    return step
  }
  for (const transfer of transfers) {
    const { from, to, value } = transfer
    stepOf(transfer, from).sent += value
    if (from === ZERO_ADDRESS && to === ZERO_ADDRESS) stepOf(transfer, to).kept += value
    else stepOf(transfer, to).received += value
  }
  return wallets
}

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
export type LastMoves = ReadonlyMap<string, number | null>

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
  const gone = emptied.map(({ token, address }) => [token, address, change.chainId])
  await deleteRows(change.connection, 'balances', BALANCES_KEY, gone)
  await writeBalances(
    change,
    after.filter(({ balance }) => balance !== 0n),
  )
}

export function balanceAfter(movement: Movement, before: Balances): bigint {
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

const BALANCES_KEY = { token: 'text', address: 'text', chain_id: 'bigint' } as const

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
  columns: { ...BALANCES_KEY, balance: 'text', since_unix: 'bigint', last_unix: 'bigint' },
  conflict: `on conflict (token, address, chain_id) do update set balance = excluded.balance,
    since_unix = excluded.since_unix, last_unix = excluded.last_unix`,
}

/** Recorded for blocks that are not final, so that they can be reverted. */
export async function storeDeltas(
  change: Change,
  movements: readonly Movement[],
  before: Balances,
): Promise<void> {
  const list = movements.flatMap((movement) => {
    const { token, address, steps } = movement
    const newest = steps.at(-1)
    if (newest === undefined || newest.blockNumber <= change.finalizedNumber) return []
    const last = lastMovesBefore(movement, before.get(`${token}|${address}`))
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
            ],
          ],
    )
  })
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      insert into balance_deltas
        (chain_id, block_number, token, address, timestamp_unix, received, sent, kept, last_unix)
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

/** Removes the deltas above the ancestor; returns their inverse, and the last moves before them. */
export async function takeDeltas(
  change: Change,
  ancestor: Position,
): Promise<{
  readonly undone: readonly Movement[]
  readonly last: LastMoves
}> {
  const removed = await change.connection.run(sql`
    delete from balance_deltas
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}
    returning token, address, block_number, timestamp_unix, received, sent, kept,
      last_unix`)
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
  return { undone, last }
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

/** The longest window, and more than a reorg takes back even where blocks are hours apart. */
const KEPT_DAYS = 35

/** Records balances before the first movement of an hour. */
export async function openHours(
  { connection, chainId, hoursFromUnix = 0 }: Change,
  movements: readonly Movement[],
  before: Balances,
): Promise<void> {
  const hours = movements.flatMap((movement) => hoursOf(movement, before, hoursFromUnix))
  for (const part of chunks(hours, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into balance_hours (token, address, hour_unix, block_number, balance, chain_id)
      values ${rows(part.map((hour) => [...hour, chainId]))}
      on conflict (token, address, chain_id, hour_unix) do nothing`)
}

function hoursOf(
  { token, address, steps }: Movement,
  before: Balances,
  fromUnix: number,
): readonly (readonly (string | number)[])[] {
  const newestUnix = steps.at(-1)?.timestamp ?? 0
  if (address === ZERO_ADDRESS || newestUnix < fromUnix) return []
  let balance = before.get(`${token}|${address}`)?.balance ?? 0n
  let last = -1
  return steps.flatMap((step) => {
    const hourUnix = startOfHour(step.timestamp)
    const opening = [token, address, hourUnix, step.blockNumber, toStored(balance)]
    balance += step.received - step.sent
    if (!movesAny(step) || hourUnix === last || hourUnix < fromUnix) return []
    last = hourUnix
    return [opening]
  })
}

/** Removes hours whose first movement left the chain. */
export async function revertHours(
  { connection, chainId }: Change,
  { number, timestamp }: Position,
): Promise<void> {
  await connection.run(sql`
    delete from balance_hours
    where chain_id = ${chainId} and hour_unix >= ${startOfHour(timestamp)}
      and block_number > ${number}`)
}

export async function forgetHours({ connection, chainId }: Change): Promise<void> {
  await connection.run(sql`
    delete from balance_hours where chain_id = ${chainId} and hour_unix < (
      select timestamp_unix - ${KEPT_DAYS * DAY_SECONDS} from positions
      where chain_id = ${chainId})`)
}

/** Returns what a wallet held before its first move since an hour; undefined if it has not moved. */
export async function openingSince(
  change: Pick<Change, 'connection' | 'chainId'>,
  { token, address, hourUnix }: Pick<Movement, 'token' | 'address'> & { readonly hourUnix: number },
): Promise<bigint | undefined> {
  const [row] = await change.connection.run(sql`
    select balance from balance_hours
    where token = ${token} and address = ${address} and chain_id = ${change.chainId}
      and hour_unix >= ${hourUnix}
    order by hour_unix limit 1`)
  return row && column.bigint(row, 'balance')
}

const HOLDER_TOTALS: SumTable = {
  table: 'holder_totals',
  key: { token: 'text', address: 'text' },
  sums: { balance: 'text' },
}

/** Adds up what wallets hold on all chains. `tokens` are on several. */
export async function foldTotals(
  { connection }: Change,
  movements: readonly Movement[],
  tokens: ReadonlySet<string>,
): Promise<void> {
  const moved = movements.filter(
    ({ token, address }) => tokens.has(token) && address !== ZERO_ADDRESS,
  )
  const additions = moved.map(({ token, address, steps }) => {
    const sum = steps.reduce((all, { received, sent }) => all + received - sent, 0n)
    return { key: [token, address], sums: [sum] }
  })
  await foldSums(connection, HOLDER_TOTALS, additions)
}
