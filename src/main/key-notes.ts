import {
  appendFileSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { KeyChange } from '#callers/keys/authorise.ts'
import { compileLazily } from '#lib/compile-lazily.ts'
import type { Clock } from '#lib/time.ts'
import { Type } from '#lib/type.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Settings } from './settings.ts'

export interface KeyNote {
  readonly timeMs: number
  readonly kind: 'revoked' | 'limited'
  readonly publicId: string
  readonly owner: string
}

/** Beside embedded accounts, and apart from them: a restore reads it when they are lost. */
const FILE = 'revocations.jsonl'

export function notesFile(folder: string): string {
  return join(folder, FILE)
}

const schema = compileLazily(
  Type.Object({
    time: Type.String(),
    msg: Type.Union(['revoked', 'limited'].map((kind) => Type.Literal(`key ${kind}`))),
    publicId: Type.String(),
    owner: Type.String(),
  }),
)

/** On the disk when it returns. */
export function noteKeys(folder: string, notes: readonly KeyNote[]): void {
  if (notes.length === 0) return
  mkdirSync(folder, { recursive: true })
  const descriptor = openSync(notesFile(folder), 'a', 0o600)
  try {
    fchmodSync(descriptor, 0o600)
    // Each begins a line, also behind one that a power loss cut off.
    appendFileSync(descriptor, notes.map((note) => `\n${toLine(note)}`).join(''))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function toLine({ timeMs, kind, publicId, owner }: KeyNote): string {
  const time = new Date(timeMs).toISOString()
  return JSON.stringify({ time, publicId, owner, msg: `key ${kind}` })
}

export interface KeyNotes {
  readonly notes: readonly KeyNote[]
  /** Lines that cannot be read: the keys they named are not known. */
  readonly damaged: number
}

/** Undefined without a file. */
export function readKeyNotes(folder: string): KeyNotes | undefined {
  const file = notesFile(folder)
  if (!existsSync(file)) return undefined
  const lines = readFileSync(file, 'utf8').split('\n')
  const parsed = lines.filter((line) => line !== '').map(parseLine)
  const notes = parsed.filter((note) => note !== undefined)
  return { notes, damaged: parsed.length - notes.length }
}

function parseLine(text: string): KeyNote | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!schema().Check(value)) return undefined
    const { time, msg, publicId, owner } = value
    const kind = msg === 'key limited' ? 'limited' : 'revoked'
    return { timeMs: Date.parse(time), kind, publicId, owner }
  } catch {
    return undefined
  }
}

/** Notes revoked keys that the notes lack, after a crash before a note, or in accounts that were copied. */
export async function noteRevokedKeys(
  { dataFolder, accounts }: Pick<Settings, 'dataFolder' | 'accounts'>,
  reads: Pick<Connection, 'run'>,
): Promise<void> {
  if (accounts.kind !== 'sqlite') return
  const noted = readKeyNotes(dataFolder)?.notes.filter(({ kind }) => kind === 'revoked') ?? []
  const known = new Set(noted.map(({ publicId }) => publicId))
  const found = await reads.run(sql`
    select public_id, wallet, revoked_unix from keys
    where revoked_unix is not null order by revoked_unix, public_id`)
  const revoked = found.map((row) => ({
    timeMs: column.integer(row, 'revoked_unix') * 1_000,
    kind: 'revoked' as const,
    publicId: column.text(row, 'public_id'),
    owner: column.text(row, 'wallet'),
  }))
  noteKeys(
    dataFolder,
    revoked.filter(({ publicId }) => !known.has(publicId)),
  )
}

/** Logs changes of keys and, for embedded accounts, notes those that a restore must know. */
export function watchKeys({
  settings,
  logger,
  clock,
}: {
  readonly settings: Pick<Settings, 'dataFolder' | 'accounts'>
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly clock: Clock
}): (change: KeyChange) => void {
  return (change) => {
    logger.info(change, `key ${change.kind}`)
    if (change.kind === 'minted' || settings.accounts.kind !== 'sqlite') return
    const kind = change.kind === 'limited' ? 'limited' : 'revoked'
    const { publicId, owner } = change
    try {
      noteKeys(settings.dataFolder, [{ timeMs: clock(), kind, publicId, owner }])
    } catch (err) {
      // The change is committed, and its answer may hold a secret.
      logger.error({ err, publicId }, `not noted in ${FILE}: a restore would undo it`)
    }
  }
}
