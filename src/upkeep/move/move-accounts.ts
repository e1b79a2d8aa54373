import { rowChecks, schemaChecks } from '#audit/audit-accounts.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { type Connection, type Engine, StoreError } from '#store/engine.ts'
import type { Sql } from '#store/sql.ts'
import type { FileMove, MovingFile } from '#store/sqlite/moving-file.ts'
import { ACCOUNT_TABLES, copiedAccounts, differencesIn, firstFew } from '../copied-stores.ts'
import {
  copyTables,
  proveTables,
  type TableProofs,
  tableWithRows,
  unequalTables,
} from '../copy-tables.ts'
import { hasCopy, lockCopies, recordCopy, wasCopied } from '../store-copies.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { applyChanges } from './apply-changes.ts'

export interface MoveDeps {
  readonly source: MovingFile
  readonly reader: Engine
  readonly target: Engine
  readonly clock: Clock
  readonly move: FileMove
  /** A slower end is given up, and the old store goes on. */
  readonly frozenMsMax: number
  onRows?(count: number): void | Promise<void>
}

export interface MovedAccounts {
  readonly tables: TableProofs
  readonly changedRows: number
  /** How long calls got 503 from the old store so far. */
  readonly frozenMs: number
}

const RENEW_MS = 2_000

/**
 * Order of the end: the file is closed for good, the target commits, the file is left. A kill between
 * these leaves a file that refuses every write until `settle` asks the target.
 */
export async function moveAccounts(deps: MoveDeps): Promise<MovedAccounts> {
  const { source, target, move, clock, frozenMsMax } = deps
  if (!(await source.watch(move)))
    throw new UpkeepError('another "sexton move" works on this folder; wait for it to end')
  const done = { tables: new Map() as TableProofs, changedRows: 0, frozenAtMs: 0 }
  const renewing = setInterval(() => {
    // A target that stalls must not keep callers out: the freeze then ends by itself.
    if (done.frozenAtMs > 0 && clock() - done.frozenAtMs > frozenMsMax) return
    void source.renew(move).catch(() => undefined)
  }, RENEW_MS)
  try {
    await target.writeWithoutTimeout(async (tx) => {
      await prepareTarget(tx)
      done.tables = await copyInUse(deps, tx)
      done.frozenAtMs = clock()
      await source.freeze(move)
      done.changedRows = await finishFrozen(deps, tx, done.frozenAtMs)
      await source.handOver(move)
    })
    await source.leave(move)
  } catch (error) {
    if ((await recover(deps)) === 'undone') throw error
  } finally {
    clearInterval(renewing)
  }
  return { ...done, frozenMs: clock() - done.frozenAtMs }
}

/** The answer to the commit may have been lost. */
async function recover(deps: MoveDeps): Promise<'moved' | 'undone'> {
  const { source, move } = deps
  const state = await source.state()
  if (state.kind === 'handedOver' && state.id === move.id) return settle(deps, move)
  if (state.kind === 'moved') return hasMoved(deps)
  await source.thaw(move)
  return 'undone'
}

/** Another mover may have ended this move, or one of its own. */
async function hasMoved({ target, move }: MoveDeps): Promise<'moved' | 'undone'> {
  const isThere = await target.snapshot((reads) => hasCopy(reads, move.id))
  return isThere ? 'moved' : 'undone'
}

/** Ends a move that was cut off between the two commits, which the target alone knows. */
export async function settle(
  { source, target }: Pick<MoveDeps, 'source' | 'target'>,
  move: FileMove,
): Promise<'moved' | 'undone'> {
  const isThere = await wasCopied(target, move.id).catch((cause: unknown) => {
    if (!(cause instanceof StoreError)) throw cause
    throw new UpkeepError(
      `the move to ${move.place} was cut off at its end, and only that database knows whether it was made; run this again once it answers. Until then calls get 503 (${cause.message})`,
      { cause },
    )
  })
  if (isThere) await source.leave(move)
  else await source.thaw(move)
  return isThere ? 'moved' : 'undone'
}

/** Guards are off until the end: rows arrive in states that they took years to reach. */
async function prepareTarget(tx: Connection): Promise<void> {
  await lockCopies(tx)
  const table = await tableWithRows(tx, ACCOUNT_TABLES)
  if (table !== undefined)
    throw new UpkeepError(
      `--to: the accounts there have rows in "${table}"; name an empty database`,
    )
  for (const each of ACCOUNT_TABLES) await tx.run(plain(`alter table ${each} disable trigger user`))
}

/** One state of the old store while calls are answered, proven equal on both sides and audited. */
async function copyInUse(
  { reader, target, onRows }: MoveDeps,
  tx: Connection,
): Promise<TableProofs> {
  const copied = { ...copiedAccounts, ...(onRows !== undefined && { onRows }) }
  const read = await reader.snapshot((connection) =>
    copyTables({ connection, dialect: 'sqlite' }, tx, copied),
  )
  await checkConstraints(tx)
  for (const table of ACCOUNT_TABLES) await tx.run(plain(`analyze ${table}`))
  const stored = await proveTables({ connection: tx, dialect: target.dialect }, copied)
  const unequal = unequalTables(read, stored)
  if (unequal.length > 0) throw new UpkeepError(`the copies differ in ${unequal.join(', ')}`)
  const differences = await differencesIn(tx, target.dialect, rowChecks(target.dialect))
  if (differences.length > 0)
    throw new UpkeepError(`the copied accounts fail their audit: ${firstFew(differences)}`)
  return read
}

async function finishFrozen(
  { source, target, clock, move, frozenMsMax }: MoveDeps,
  tx: Connection,
  sinceMs: number,
): Promise<number> {
  const changedRows = await applyChanges(source, tx)
  await checkConstraints(tx)
  for (const each of ACCOUNT_TABLES) await tx.run(plain(`alter table ${each} enable trigger user`))
  const differences = await differencesIn(tx, target.dialect, schemaChecks(target.dialect))
  if (differences.length > 0)
    throw new UpkeepError(`the target is not whole: ${firstFew(differences)}`)
  await recordCopy(tx, { ...move, kind: 'move', origin: 'SQLite', nowUnix: unixNow(clock) })
  if (clock() - sinceMs > frozenMsMax)
    throw new UpkeepError(
      `calls were refused for ${frozenMsMax / 1000} s, the longest allowed; raise --frozen-seconds`,
    )
  return changedRows
}

/** Now rather than at the commit: a table with checks to come cannot be altered. */
async function checkConstraints(tx: Connection): Promise<void> {
  await tx.run(plain('set constraints all immediate'))
  await tx.run(plain('set constraints all deferred'))
}

function plain(text: string): Sql {
  return { kind: 'sql', parts: [text], values: [] }
}
