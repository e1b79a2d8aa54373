import type { Change, Position } from '#chains/indexer/dataset.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/stored-integer.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import type { Movement, Step } from './movement.ts'

/** Keyed by `token|address`. */
export type Balances = ReadonlyMap<string, bigint>

/** The first UTC day of the current span, by `token|address`. */
export type HoldersSince = ReadonlyMap<string, number>

export async function readBalances(
  change: Change,
  movements: readonly Movement[],
): Promise<Balances> {
  const balances = new Map<string, bigint>()
  for (const part of chunks(movements, ROWS_PER_STATEMENT)) {
    const found = await change.connection.run(sql`
      select token, address, balance from balances
      where chain_id = ${change.chainId} and ${inKeys(
        { token: 'text', address: 'text' },
        part.map(({ token, address }) => [token, address]),
      )}`)
    for (const row of found)
      balances.set(`${row.token}|${row.address}`, column.bigint(row, 'balance'))
  }
  return balances
}

/** Zero balances have no row. */
export async function moveBalances(
  change: Change,
  movements: readonly Movement[],
  { before, since }: { readonly before: Balances; readonly since: HoldersSince },
): Promise<void> {
  const after = movements
    .filter(({ address }) => address !== ZERO_ADDRESS)
    .map((movement) => ({
      ...movement,
      balance: balanceAfter(movement, before),
      sinceUnix: since.get(`${movement.token}|${movement.address}`) ?? null,
    }))
  for (const part of chunks(after, ROWS_PER_STATEMENT)) {
    await deleteBalances(
      change,
      part.filter(({ balance }) => balance === 0n),
    )
    await writeBalances(
      change,
      part.filter(({ balance }) => balance !== 0n),
    )
  }
}

function balanceAfter(movement: Movement, before: Balances): bigint {
  const { token, address, steps } = movement
  let balance = before.get(`${token}|${address}`) ?? 0n
  for (const step of steps) balance += step.received - step.sent
  return balance
}

async function deleteBalances(change: Change, emptied: readonly Movement[]): Promise<void> {
  if (emptied.length === 0) return
  const keys = emptied.map(({ token, address }) => [token, address])
  await change.connection.run(sql`
    delete from balances where chain_id = ${change.chainId}
      and ${inKeys({ token: 'text', address: 'text' }, keys)}`)
}

async function writeBalances(
  change: Change,
  kept: readonly (Movement & { readonly balance: bigint; readonly sinceUnix: number | null })[],
): Promise<void> {
  if (kept.length === 0) return
  const list = kept.map(({ token, address, balance, sinceUnix }) => [
    token,
    address,
    change.chainId,
    toStored(balance),
    sinceUnix,
  ])
  await change.connection.run(sql`
    insert into balances (token, address, chain_id, balance, since_unix) values ${rows(list)}
    on conflict (token, address, chain_id) do update set
      balance = excluded.balance, since_unix = excluded.since_unix`)
}

/** Recorded for blocks that are not final, so that they can be reverted. */
export async function storeDeltas(change: Change, movements: readonly Movement[]): Promise<void> {
  const list = movements.flatMap(({ token, address, steps }) =>
    steps
      .filter((step) => step.blockNumber > change.finalizedNumber)
      .map((step) => [
        change.chainId,
        step.blockNumber,
        token,
        address,
        step.timestamp,
        toStored(step.received),
        toStored(step.sent),
        toStored(step.kept),
      ]),
  )
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      insert into balance_deltas
        (chain_id, block_number, token, address, timestamp_unix, received, sent, kept)
      values ${rows(part)}`)
}

/** Removes the deltas above the ancestor and returns their inverse. */
export async function takeDeltas(change: Change, ancestor: Position): Promise<readonly Movement[]> {
  const removed = await change.connection.run(sql`
    delete from balance_deltas
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}
    returning token, address, block_number, timestamp_unix, received, sent, kept`)
  const groups = Map.groupBy(removed, (row) => `${row.token}|${row.address}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const steps = group.map<Step>((row) => ({
      blockNumber: column.integer(row, 'block_number'),
      timestamp: column.integer(row, 'timestamp_unix'),
      received: -column.bigint(row, 'received'),
      sent: -column.bigint(row, 'sent'),
      kept: -column.bigint(row, 'kept'),
    }))
    return [{ token: column.text(first, 'token'), address: column.hex(first, 'address'), steps }]
  })
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
