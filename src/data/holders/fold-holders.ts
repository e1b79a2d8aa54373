import assert from 'node:assert/strict'
import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import { chunks } from '#base/async.ts'
import { DAY_SECONDS, startOfDay, startOfHour } from '#base/time.ts'
import { type Addition, deleteRows, foldSums, type SumTable } from '#data/events/sums.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, inNames, type Row, sql, toStored } from '#db/sql.ts'
import type { Change, Position } from '#index/dataset.ts'

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

/** What a wallet moves of a token in some blocks. */
export interface Movement {
  readonly token: string
  readonly address: Address
  /** Oldest first. */
  readonly steps: readonly Step[]
  /** What `readBalances` finds. */
  before: HeldBalance
  /** The UTC day of the last transfer of more than zero before the steps, where these are undone. */
  readonly lastUnix?: number | null
}

interface HeldBalance {
  readonly balance: bigint
  /** The UTC day of the last transfer of more than zero. */
  readonly lastUnix: number
}

const NONE: HeldBalance = { balance: 0n, lastUnix: 0 }

export interface TransferFact {
  readonly token: string
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly blockNumber: number
  readonly timestamp: number
}

/** The list is sorted by token and address, because rows in the order of their keys are written fastest. */
export function collectMovements(transfers: readonly TransferFact[]): readonly Movement[] {
  return [...Map.groupBy(transfers, ({ token }) => token)].flatMap(([token, own]) =>
    [...collectSteps(own)]
      .sort(byAddress)
      .map(([address, steps]) => ({ token, address, steps, before: NONE })),
  )
}

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

/** Each token by itself: PostgreSQL looks such addresses up in the index, but pairs of a list by reading the whole table. */
const ADDRESSES_AT_ONCE = 5_000

/** Notes what each wallet holds before it moves. */
export async function readBalances(
  { connection, chainId }: Change,
  movements: readonly Movement[],
): Promise<void> {
  for (const [token, own] of Map.groupBy(movements, (each) => each.token))
    for (const part of chunks(own, ADDRESSES_AT_ONCE)) {
      const byAddress = new Map(part.map((movement) => [movement.address, movement]))
      const found = await connection.run(sql`
        select address, balance, last_unix from balances
        where token = ${token} and address ${inNames([...byAddress.keys()])}
          and chain_id = ${chainId}`)
      for (const row of found) {
        const movement = byAddress.get(column.hex(row, 'address'))
        assert(movement !== undefined, 'the balance of a wallet that does not move')
        const [balance, lastUnix] = [
          column.bigint(row, 'balance'),
          column.integer(row, 'last_unix'),
        ]
        movement.before = { balance, lastUnix }
      }
    }
}

const BALANCES_KEY = { token: 'text', address: 'text', chain_id: 'bigint' } as const

const BALANCES: BulkInsert = {
  table: 'balances',
  columns: { ...BALANCES_KEY, balance: 'text', last_unix: 'bigint' },
  conflict: `on conflict (token, address, chain_id) do update set balance = excluded.balance,
    last_unix = excluded.last_unix`,
}

/** Zero balances have no row. */
export async function moveBalances(
  { connection, chainId }: Change,
  movements: readonly Movement[],
): Promise<void> {
  const kept: (string | number)[][] = []
  const emptied: (string | number)[][] = []
  for (const movement of movements) {
    const { token, address } = movement
    if (address === ZERO_ADDRESS) continue
    const balance = balanceAfter(movement)
    if (balance !== 0n)
      kept.push([token, address, chainId, toStored(balance), lastMoveAfter(movement)])
    else if (movement.before.balance !== 0n) emptied.push([token, address, chainId])
  }
  await deleteRows(connection, 'balances', BALANCES_KEY, emptied)
  await connection.insert(BALANCES, kept)
}

export function balanceAfter({ before, steps }: Movement): bigint {
  return before.balance + sumSteps(steps)
}

function sumSteps(steps: readonly Step[]): bigint {
  let sum = 0n
  for (const { received, sent } of steps) sum += received - sent
  return sum
}

function lastMoveAfter({ steps, before, lastUnix }: Movement): number {
  if (lastUnix !== undefined) return lastUnix ?? 0
  const last = steps.findLast(movesAny)
  return last ? startOfDay(last.timestamp) : before.lastUnix
}

const BALANCE_DELTAS: BulkInsert = {
  table: 'balance_deltas',
  columns: {
    chain_id: 'bigint',
    block_number: 'bigint',
    token: 'text',
    address: 'text',
    timestamp_unix: 'bigint',
    received: 'text',
    sent: 'text',
    kept: 'text',
    last_unix: 'bigint',
  },
}

/** Recorded for blocks that are not final, so that they can be reverted. */
export async function storeDeltas(
  { connection, chainId, finalizedNumber }: Change,
  movements: readonly Movement[],
): Promise<void> {
  const isOpen = ({ blockNumber }: Step) => blockNumber > finalizedNumber
  const open = movements.filter(({ steps }) => steps.some(isOpen))
  const list = open.flatMap(({ token, address, steps, before }) => {
    let { balance, lastUnix } = before
    return steps.flatMap((step) => {
      const { blockNumber, timestamp, received, sent, kept } = step
      // The zero address has no balance.
      const last = address === ZERO_ADDRESS || balance === 0n ? null : lastUnix
      balance += received - sent
      if (movesAny(step)) lastUnix = startOfDay(timestamp)
      const amounts = [received, sent, kept].map(toStored)
      const row = [chainId, blockNumber, token, address, timestamp, ...amounts, last]
      return isOpen(step) ? [row] : []
    })
  })
  await connection.insert(BALANCE_DELTAS, list)
}

/** Removes the deltas above the ancestor; returns their inverse. */
export async function takeDeltas(
  { connection, chainId }: Change,
  ancestor: Position,
): Promise<readonly Movement[]> {
  const removed = await connection.run(sql`
    delete from balance_deltas
    where chain_id = ${chainId} and block_number > ${ancestor.number}
    returning token, address, block_number, timestamp_unix, received, sent, kept,
      last_unix`)
  const number = (row: Row) => column.integer(row, 'block_number')
  const ordered = [...removed].sort((a, b) => number(a) - number(b))
  return [...Map.groupBy(ordered, (row) => `${row.token}|${row.address}`).values()].flatMap(
    (group) => {
      const [first] = group
      if (first === undefined) return []
      const steps = group.map<Step>((row) => ({
        blockNumber: number(row),
        timestamp: column.integer(row, 'timestamp_unix'),
        received: -column.bigint(row, 'received'),
        sent: -column.bigint(row, 'sent'),
        kept: -column.bigint(row, 'kept'),
      }))
      const [token, address] = [column.text(first, 'token'), column.hex(first, 'address')]
      return [
        { token, address, steps, before: NONE, lastUnix: column.integerOrNull(first, 'last_unix') },
      ]
    },
  )
}

export async function forgetDeltas({
  connection,
  chainId,
  finalizedNumber,
}: Change): Promise<void> {
  await connection.run(sql`
    delete from balance_deltas
    where chain_id = ${chainId} and block_number <= ${finalizedNumber}`)
}

/** The longest window, and more than a reorg takes back even where blocks are hours apart. */
const KEPT_DAYS = 35

const BALANCE_HOURS: BulkInsert = {
  table: 'balance_hours',
  columns: { ...BALANCES_KEY, hour_unix: 'bigint', block_number: 'bigint', balance: 'text' },
  conflict: 'on conflict (token, address, chain_id, hour_unix) do nothing',
}

/** Records balances before the first movement of an hour. */
export async function openHours(
  { connection, chainId, hoursFromUnix = 0 }: Change,
  movements: readonly Movement[],
): Promise<void> {
  const isKept = ({ timestamp }: Step) => startOfHour(timestamp) >= hoursFromUnix
  const kept = movements.filter(
    ({ address, steps }) => address !== ZERO_ADDRESS && steps.some(isKept),
  )
  const hours = kept.flatMap(({ token, address, steps, before }) => {
    let { balance } = before
    let last = -1
    return steps.flatMap((step) => {
      const hourUnix = startOfHour(step.timestamp)
      const opening = [token, address, chainId, hourUnix, step.blockNumber, toStored(balance)]
      balance += step.received - step.sent
      if (!movesAny(step) || hourUnix === last || !isKept(step)) return []
      last = hourUnix
      return [opening]
    })
  })
  await connection.insert(BALANCE_HOURS, hours)
}

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
  { connection, chainId }: Pick<Change, 'connection' | 'chainId'>,
  { token, address, hourUnix }: Pick<Movement, 'token' | 'address'> & { readonly hourUnix: number },
): Promise<bigint | undefined> {
  const [row] = await connection.run(sql`
    select balance from balance_hours
    where token = ${token} and address = ${address} and chain_id = ${chainId}
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
  const additions = moved.map((movement) => ({
    key: [movement.token, movement.address],
    sums: [sumSteps(movement.steps)],
  }))
  await foldSums(connection, HOLDER_TOTALS, additions)
}

const SUPPLY_BUCKETS: SumTable = {
  table: 'supply_buckets',
  key: { token: 'text', chain_id: 'bigint', grain: 'text', bucket_unix: 'bigint' },
  sums: { minted: 'text', burned: 'text', locked: 'text', unlocked: 'text' },
}

export async function foldSupply(
  { connection, chainId }: Change,
  movements: readonly Movement[],
  locked: ReadonlySet<Address>,
): Promise<void> {
  const moved = movements.filter(({ address }) => address === ZERO_ADDRESS || locked.has(address))
  const additions = moved.flatMap(({ token, address, steps }) =>
    steps.flatMap(({ timestamp, received, sent, kept }): readonly Addition[] => {
      const sums = address === ZERO_ADDRESS ? [sent, received, kept, 0n] : [0n, 0n, received, sent]
      return [
        { key: [token, chainId, 'day', startOfDay(timestamp)], sums },
        { key: [token, chainId, 'total', 0], sums },
      ]
    }),
  )
  await foldSums(connection, SUPPLY_BUCKETS, additions)
}

/** Replaces an address's day ends from `fromDay` on. */
export interface HolderChange {
  readonly token: string
  readonly address: Address
  readonly fromDay: number
  readonly ends: readonly DayEnd[]
}

const HOLDER_BUCKETS: SumTable = {
  table: 'holder_buckets',
  key: { token: 'text', grain: 'text', bucket_unix: 'bigint' },
  sums: { gained: 'bigint', lost: 'bigint' },
}

const DAYS_KEY = { ...BALANCES_KEY, day_unix: 'bigint' } as const

const DAYS: BulkInsert = {
  table: 'holder_days',
  columns: { ...DAYS_KEY, holds: 'bigint' },
}

/** A wallet on two chains is one holder. */
export async function foldHolders(
  { connection, chainId }: Change,
  changes: readonly HolderChange[],
): Promise<void> {
  const turns: Addition[] = []
  const removed: (string | number)[][] = []
  const added: (string | number)[][] = []
  for (const [token, own] of Map.groupBy(changes, (each) => each.token)) {
    const stored = await readDays(connection, token, own)
    for (const change of own) {
      const { address, fromDay } = change
      const before = stored.get(address) ?? []
      const after = replaceDays(before, chainId, change)
      const isReplaced = (day: HolderDay) => day.chainId === chainId && day.dayUnix >= fromDay
      const toKey = ({ dayUnix }: HolderDay) => [token, address, chainId, dayUnix]
      removed.push(...before.filter(isReplaced).map(toKey))
      added.push(...after.filter(isReplaced).map((day) => [...toKey(day), Number(day.holds)]))
      turns.push(...countTurns(token, turningDays(before), -1n))
      turns.push(...countTurns(token, turningDays(after), 1n))
    }
  }
  await deleteRows(connection, 'holder_days', DAYS_KEY, removed)
  await connection.insert(DAYS, added)
  await foldSums(connection, HOLDER_BUCKETS, turns)
}

/** Returns stored days keyed by address, oldest first. */
async function readDays(
  connection: Connection,
  token: string,
  wallets: readonly Pick<HolderChange, 'address'>[],
): Promise<ReadonlyMap<string, readonly HolderDay[]>> {
  const days: (HolderDay & { readonly address: string })[] = []
  for (const part of chunks(wallets, ADDRESSES_AT_ONCE)) {
    const addresses = part.map(({ address }) => address)
    const found = await connection.run(sql`
      select address, chain_id, day_unix, holds from holder_days
      where token = ${token} and address ${inNames(addresses)} order by day_unix`)
    for (const row of found)
      days.push({
        address: column.text(row, 'address'),
        chainId: column.integer(row, 'chain_id'),
        dayUnix: column.integer(row, 'day_unix'),
        holds: column.flag(row, 'holds'),
      })
  }
  return Map.groupBy(days, ({ address }) => address)
}

function countTurns(
  token: string,
  days: ReadonlyMap<number, 1 | -1>,
  sign: 1n | -1n,
): readonly Addition[] {
  return [...days].flatMap(([dayUnix, direction]) => {
    const sums = direction === 1 ? [sign, 0n] : [0n, sign]
    return [
      { key: [token, 'day', dayUnix], sums },
      { key: [token, 'total', 0], sums },
    ]
  })
}

/** Whether an address holds at the end of a UTC day. */
interface DayEnd {
  readonly dayUnix: number
  readonly holds: boolean
}

interface HolderDay extends DayEnd {
  readonly chainId: number
}

/** Returns each day with a movement, and whether anything is held at its end; a node's times may go back. */
export function dayEnds({ steps, before }: Movement): readonly DayEnd[] {
  const ends = new Map<number, boolean>()
  let { balance } = before
  for (const { timestamp, received, sent } of steps) {
    balance += received - sent
    ends.set(startOfDay(timestamp), balance > 0n)
  }
  return [...ends].map(([dayUnix, holds]) => ({ dayUnix, holds }))
}

/** Replaces one chain's days from `fromDay` on. A day is listed only if it ends differently from the previous one. */
function replaceDays(
  days: readonly HolderDay[],
  chainId: number,
  { fromDay, ends }: Pick<HolderChange, 'fromDay' | 'ends'>,
): readonly HolderDay[] {
  const kept = days.filter((day) => day.chainId !== chainId || day.dayUnix < fromDay)
  let holds = kept.findLast((day) => day.chainId === chainId)?.holds ?? false
  const turned: HolderDay[] = []
  for (const end of ends) {
    if (end.holds !== holds) turned.push({ chainId, ...end })
    holds = end.holds
  }
  return [...kept, ...turned].sort((a, b) => a.dayUnix - b.dayUnix)
}

/** Across all chains, oldest first: +1 began, -1 ceased. */
function turningDays(days: readonly HolderDay[]): ReadonlyMap<number, 1 | -1> {
  const turns = new Map<number, 1 | -1>()
  const holding = new Set<number>()
  for (const day of days) {
    const before = holding.size > 0
    if (day.holds) holding.add(day.chainId)
    else holding.delete(day.chainId)
    const after = holding.size > 0
    // Opposite changes on two chains cancel out.
    if (before !== after && !turns.delete(day.dayUnix)) turns.set(day.dayUnix, after ? 1 : -1)
  }
  return turns
}
