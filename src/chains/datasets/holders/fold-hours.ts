import type { Change } from '#chains/indexer/dataset.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { chunks } from '#lib/chunks.ts'
import { DAY_SECONDS, startOfHour } from '#lib/time.ts'
import { column, ROWS_PER_STATEMENT, rows, sql, toStored } from '#store/sql.ts'
import { inKeys } from '#store/typed-values.ts'
import type { Balances } from './fold-balances.ts'
import { hourKey, type Movement, movesAny, type OpenedHour } from './movement.ts'

/** The longest window, and more than a reorg takes back even where blocks are hours apart. */
const KEPT_DAYS = 35

/** Records balances before the first movement of an hour; returns the keys of hours that had none. */
export async function openHours(
  change: Change,
  movements: readonly Movement[],
  before: Balances,
): Promise<ReadonlySet<string>> {
  const opened = new Set<string>()
  const { hoursFromUnix = 0 } = change
  const hours = movements.flatMap((movement) => hoursOf(movement, before, hoursFromUnix))
  for (const part of chunks(hours, ROWS_PER_STATEMENT)) {
    const list = part.map(({ token, address, hourUnix, balance }) => [
      token,
      address,
      change.chainId,
      hourUnix,
      toStored(balance),
    ])
    const added = await change.connection.run(sql`
      insert into balance_hours (token, address, chain_id, hour_unix, balance) values ${rows(list)}
      on conflict (token, address, chain_id, hour_unix) do nothing
      returning token, address, hour_unix`)
    for (const row of added)
      opened.add(
        hourKey({
          token: column.text(row, 'token'),
          address: column.hex(row, 'address'),
          hourUnix: column.integer(row, 'hour_unix'),
        }),
      )
  }
  return opened
}

function hoursOf(
  { token, address, steps }: Movement,
  before: Balances,
  fromUnix: number,
): readonly (OpenedHour & { readonly balance: bigint })[] {
  const newestUnix = steps.at(-1)?.timestamp ?? 0
  if (address === ZERO_ADDRESS || newestUnix < fromUnix) return []
  let balance = before.get(`${token}|${address}`)?.balance ?? 0n
  let last = -1
  return steps.flatMap((step) => {
    const hourUnix = startOfHour(step.timestamp)
    const opening = { token, address, hourUnix, balance }
    balance += step.received - step.sent
    if (!movesAny(step) || hourUnix === last || hourUnix < fromUnix) return []
    last = hourUnix
    return [opening]
  })
}

export async function dropHours(
  { connection, chainId }: Change,
  opened: readonly OpenedHour[],
): Promise<void> {
  for (const part of chunks(opened, ROWS_PER_STATEMENT))
    await connection.run(sql`
      delete from balance_hours where ${inKeys(
        BALANCE_HOURS_KEY,
        part.map(({ token, address, hourUnix }) => [token, address, chainId, hourUnix]),
      )}`)
}

const BALANCE_HOURS_KEY = {
  token: 'text',
  address: 'text',
  chain_id: 'bigint',
  hour_unix: 'bigint',
} as const

export async function forgetHours({ connection, chainId }: Change): Promise<void> {
  await connection.run(sql`
    delete from balance_hours where chain_id = ${chainId} and hour_unix < (
      select timestamp_unix - ${KEPT_DAYS * DAY_SECONDS} from positions
      where chain_id = ${chainId})`)
}

/** Returns what a wallet held before its first move since an hour; undefined if it has not moved. */
export async function openingSince(
  change: Pick<Change, 'connection' | 'chainId'>,
  { token, address, hourUnix }: OpenedHour,
): Promise<bigint | undefined> {
  const [row] = await change.connection.run(sql`
    select balance from balance_hours
    where token = ${token} and address = ${address} and chain_id = ${change.chainId}
      and hour_unix >= ${hourUnix}
    order by hour_unix limit 1`)
  return row && column.bigint(row, 'balance')
}
