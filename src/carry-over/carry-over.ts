import { accountsMigrations } from '#main/stores.ts'
import { type Connection, type Engine, StoreError } from '#store/engine.ts'
import { heldLeases } from '#store/lease.ts'
import { ACCOUNT_TABLES, differencesIn, firstFew } from '#upkeep/copied-stores.ts'
import { copyTables, tableWithRows } from '#upkeep/copy-tables.ts'
import { isOfRelease, OF_RELEASE } from './release.ts'

export class CarryOverError extends Error {
  override readonly name = 'CarryOverError'
}

/** Of these 0.1.0 has no table. */
export const ADDED: readonly string[] = [
  'grants',
  'store_copies',
  'webhooks',
  'webhook_events',
  'low_balances',
]

export const CARRIED = ACCOUNT_TABLES.filter((table) => !ADDED.includes(table))

const COPIED = { tables: CARRIED, migrations: accountsMigrations, instead: OF_RELEASE }

interface CarryOverInput {
  readonly source: Engine
  readonly target: Engine
  readonly nowMs: number
}

/**
 * Copies 0.1.0 accounts into an empty store in one transaction, audited before it commits. Returns
 * rows by table; throws CarryOverError and stores nothing on any failure.
 */
export async function carryOver(input: CarryOverInput): Promise<ReadonlyMap<string, number>> {
  const { source, target } = input
  await refuseOtherRelease(source)
  try {
    return await source.snapshot(async (reads) => {
      await refuseRunning(reads, input)
      return target.writeWithoutTimeout(async (connection) => {
        await refuseRows(connection)
        const state = { connection: reads, dialect: source.dialect }
        const proofs = await copyTables(state, connection, COPIED)
        await refuseDifferences(connection, target.dialect)
        return new Map([...proofs].map(([table, { rows }]) => [table, rows]))
      })
    })
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    const words = 'the source or the target failed; check both and run this again'
    throw new CarryOverError(`${words} (${cause.message})`, { cause })
  }
}

async function refuseOtherRelease(source: Engine): Promise<void> {
  const advice = 'name the data folder or URL that 0.1.0 used'
  const isRight = await source.snapshot(isOfRelease).catch((cause) => {
    if (!(cause instanceof StoreError)) throw cause
    const words = `the source cannot be read as accounts of Sexton 0.1.0; ${advice}`
    throw new CarryOverError(`${words} (${cause.message})`, { cause })
  })
  if (!isRight) throw new CarryOverError(`the source is not of Sexton 0.1.0; ${advice}`)
}

async function refuseRunning(
  reads: Connection,
  { source: { dialect }, nowMs }: CarryOverInput,
): Promise<void> {
  const [lease] = await heldLeases(reads, { dialect, nowMs })
  if (lease !== undefined)
    throw new CarryOverError(
      `0.1.0 still runs on the source: its ${lease} holds a lease; stop it, and wait 10 s if it was killed`,
    )
}

async function refuseRows(target: Connection): Promise<void> {
  const table = await tableWithRows(target, CARRIED)
  if (table !== undefined)
    throw new CarryOverError(`the target has rows in "${table}": name an empty store`)
}

async function refuseDifferences(target: Connection, dialect: Engine['dialect']): Promise<void> {
  const lines = await differencesIn(target, dialect)
  if (lines.length > 0)
    throw new CarryOverError(`the accounts of 0.1.0 fail their audit: ${firstFew(lines)}`)
}
