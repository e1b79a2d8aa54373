import { hash, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { keyAccount, restoredSince } from '#accounts/ledger/ledger.ts'
import { type Address, showAddress } from '#base/address.ts'
import { PUBLIC_ID } from '#base/caller.ts'
import type { KeyLimits } from '#base/key-limits.ts'
import type { MicroUsd } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { type Allowance, walletTiers } from '#base/tier.ts'
import { toIso } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, defineCodec, inNames, type Row, type RowOf, type Sql, sql } from '#db/sql.ts'
import { type SignedMessage, usableFromMs } from './message.ts'

const keys = defineCodec({
  publicId: column.text,
  secretDigest: column.text,
  wallet: column.hex,
  label: column.textOrNull,
  createdUnix: column.integer,
  revokedUnix: column.integerOrNull,
  limits: (row, name) => parseLimits(column.textOrNull(row, name)),
})

export type Key = RowOf<typeof keys>

/** Parses the column: JSON, with money as text. */
function parseLimits(text: string | null): KeyLimits | undefined {
  if (text === null) return undefined
  return JSON.parse(text, (name, value) => (/microUsd$/i.test(name) ? BigInt(value) : value))
}

export function limitsText(limits: KeyLimits = {}): string | null {
  if (Object.values(limits).every((each) => each === undefined)) return null
  return JSON.stringify(limits, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

const ACTIVE_KEYS_MAX = 10

/** Ten collisions in a row mean that the random source is broken. */
const DRAWS_MAX = 10

type FundedKey = Key & { readonly balance: MicroUsd }

const FUNDED = sql`
  select ${keys.columns}, coalesce(micro_usd, 0) as micro_usd
  from keys left join balances on account = ${keyAccount('')} || public_id`

function readFunded(row: Row): FundedKey {
  return { ...keys.read(row), balance: column.amount(row, 'micro_usd') }
}

/** Undefined for an unknown or revoked key. */
export async function findActiveKey(
  engine: Engine,
  digest: string,
): Promise<FundedKey | undefined> {
  const [row] = await engine.read(sql`
    ${FUNDED} where secret_digest = ${digest} and revoked_unix is null`)
  return row && readFunded(row)
}

export async function findKey(
  reads: Pick<Connection, 'run'>,
  publicId: string,
): Promise<Key | undefined> {
  return first(reads.run(sql`select ${keys.columns} from keys where public_id = ${publicId}`))
}

/** Locks the key's row: it cannot be revoked or rotated until the transaction ends. */
export async function lockKey(connection: Connection, publicId: string): Promise<Key | undefined> {
  return first(
    connection.run(sql`
      update keys set public_id = public_id where public_id = ${publicId} returning ${keys.columns}`),
  )
}

/** Returns keys newest first, revoked ones too. */
export async function listKeys(connection: Connection, wallet: Address): Promise<FundedKey[]> {
  const found = await connection.run(sql`
    ${FUNDED} where wallet = ${wallet} order by created_unix desc, public_id limit ${LISTED_MAX}`)
  return found.map(readFunded)
}

const LISTED_MAX = 500

interface NewKeyInput extends Pick<Key, 'wallet' | 'label'> {
  readonly keyPrefix: string
  readonly nowUnix: number
  /** A rotated key hands its limits to its successor. */
  readonly limits?: Key['limits']
}

/** Refuses the eleventh active key, even across replicas. */
export async function insertKey(
  connection: Connection,
  input: NewKeyInput,
): Promise<{ readonly key: Key; readonly secret: string } | Refusal> {
  const counted = await connection.run(sql`
    insert into wallets (wallet, active_keys) values (${input.wallet}, 1)
    on conflict (wallet) do update set active_keys = wallets.active_keys + 1
    where wallets.active_keys < ${ACTIVE_KEYS_MAX} returning active_keys`)
  if (counted.length === 0)
    return refuse(
      'key_limit_reached',
      `this wallet has ${ACTIVE_KEYS_MAX} active keys; revoke one to mint another`,
    )
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    const { publicId, secret, digest } = newSecret(input.keyPrefix)
    // Ids are never reused.
    const [row] = await connection.run(sql`
      insert into keys (public_id, secret_digest, wallet, label, created_unix, revoked_unix, limits)
      values (${publicId}, ${digest}, ${input.wallet}, ${input.label}, ${input.nowUnix},
        ${null}, ${limitsText(input.limits)})
      on conflict (public_id) do nothing returning ${keys.columns}`)
    if (row !== undefined) return { key: keys.read(row), secret }
  }
  throw new Error(`no free publicId in ${DRAWS_MAX} draws`)
}

/** Undefined if the key was already revoked. */
export async function markRevoked(
  connection: Connection,
  input: { readonly publicId: string; readonly nowUnix: number },
): Promise<Key | undefined> {
  const key = await first(
    connection.run(sql`
      update keys set revoked_unix = ${input.nowUnix}
      where public_id = ${input.publicId} and revoked_unix is null returning ${keys.columns}`),
  )
  if (key !== undefined)
    await connection.run(sql`
      update wallets set active_keys = active_keys - 1 where wallet = ${key.wallet}`)
  return key
}

/** `change` sets columns, such as `label = null`. */
export async function changeKey(tx: Connection, { publicId }: Key, change: Sql): Promise<void> {
  await tx.run(sql`update keys set ${change} where public_id = ${publicId}`)
}

export const ROTATIONS_MAX = 500

/** Returns for each key its newest rotation or itself. */
export async function newestKeys(
  reads: Pick<Connection, 'run'>,
  publicIds: readonly string[],
): Promise<ReadonlyMap<string, Key>> {
  const found = await reads.run(sql`
    with recursive line (origin, newest, depth) as (
      select public_id, public_id, 0 from keys where public_id ${inNames(publicIds)}
      union all
      select line.origin, keys.successor, line.depth + 1
      from line join keys on keys.public_id = line.newest
      where keys.successor is not null and line.depth < ${ROTATIONS_MAX}
    )
    select origin, ${keys.columns} from line join keys on keys.public_id = line.newest
    where successor is null`)
  return new Map(found.map((row) => [column.text(row, 'origin'), keys.read(row)]))
}

/** Selects a key and those that it replaced. */
export async function listRotations(connection: Connection, publicId: string): Promise<string[]> {
  const found = await connection.run(sql`
    with recursive past (public_id, depth) as (
      select public_id, 0 from keys where public_id = ${publicId}
      union all
      select keys.public_id, past.depth + 1 from past join keys on keys.successor = past.public_id
      where past.depth < ${ROTATIONS_MAX}
    )
    select public_id from past`)
  return found.map((row) => column.text(row, 'public_id'))
}

/** Locks the key's newest rotation, or the key itself, against rotation until the transaction ends. */
export async function lockSuccessor(connection: Connection, publicId: string): Promise<string> {
  let newest = publicId
  for (;;) {
    const [row] = await connection.run(sql`
      update keys set public_id = public_id where public_id = ${newest} returning successor`)
    const successor = row === undefined ? null : column.textOrNull(row, 'successor')
    if (successor === null) return newest
    newest = successor
  }
}

export async function listPublicIds(connection: Connection, wallet: Address): Promise<string[]> {
  const found = await connection.run(sql`
    select public_id from keys where wallet = ${wallet} order by public_id`)
  return found.map((row) => column.text(row, 'public_id'))
}

/** Refuses a second use of a signed message, also after a restore that lost the first use. */
export async function useMessage(
  connection: Connection,
  input: { readonly signed: SignedMessage; readonly action: string; readonly nowUnix: number },
): Promise<Refusal | undefined> {
  const { digest, wallet, values } = input.signed
  const usableFrom = Math.floor(usableFromMs(values) / 1000)
  if (await restoredSince(connection, usableFrom))
    return refuse(
      'message_expired',
      'the accounts were restored after this message was issued; sign a new one in a minute',
    )
  const used = await connection.run(sql`
    insert into used_messages (digest, wallet, action, used_unix)
    values (${digest}, ${wallet}, ${input.action}, ${input.nowUnix})
    on conflict (digest) do nothing returning digest`)
  if (used.length === 1) return undefined
  return refuse('signature_already_used', 'this message was used before; sign a new one')
}

async function first(found: Promise<readonly Row[]>): Promise<Key | undefined> {
  const [row] = await found
  return row && keys.read(row)
}

const SECRET_BYTES = 16

const PUBLIC_ID_BYTES = 4

/** The secret is shown once; only its digest is stored. */
export function newSecret(keyPrefix: string) {
  const publicId = randomBytes(PUBLIC_ID_BYTES).toString('hex')
  const secret = `${keyPrefix}_${publicId}_${randomBytes(SECRET_BYTES).toString('hex')}`
  return { publicId, secret, digest: secretDigest(secret) }
}

export function secretDigest(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isSecret(keyPrefix: string, text: string): boolean {
  if (!text.startsWith(`${keyPrefix}_`)) return false
  return /^[0-9a-f]{8}_[0-9a-f]{32}$/.test(text.slice(keyPrefix.length + 1))
}

/** Rolls the transaction back if the work refuses. */
export async function writeOrRefuse<T>(
  engine: Engine,
  work: (connection: Connection) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  try {
    return await engine.write(async (connection) => {
      const outcome = await work(connection)
      if (isRefusal(outcome)) throw new Undo(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof Undo) return error.refusal
    throw error
  }
}

class Undo extends Error {
  override readonly name = 'Undo'
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export const KeyRecord = named('ApiKey', {
  publicId: Type.String({ pattern: PUBLIC_ID.source, description: 'Safe to log and to show.' }),
  prefix: Type.String({ description: 'The beginning of the secret: prefix and publicId.' }),
  label: Type.Union([Type.String(), Type.Null()]),
  ownerAddress: Type.String({ description: 'The wallet that owns the key (EIP-55).' }),
  tier: Type.Enum(walletTiers.map(({ name }) => name)),
  status: Type.Union([Type.Literal('active'), Type.Literal('revoked')]),
  createdAt: Type.String({ format: 'date-time' }),
  dailyQuota: Type.Integer({
    description: 'Calls per UTC day, shared by all keys of the wallet.',
  }),
})

/** Only mint and rotation answer with a secret. */
export const NewKey = named('NewApiKey', {
  key: KeyRecord,
  secret: Type.String({ description: 'Shown once; only its hash is kept.' }),
})

export function toKeyRecord({ ecosystem }: Context, key: Key, { tier, dailyQuota }: Allowance) {
  return {
    publicId: key.publicId,
    prefix: `${ecosystem.service.keyPrefix}_${key.publicId}`,
    label: key.label,
    ownerAddress: showAddress(key.wallet),
    tier,
    status: key.revokedUnix === null ? 'active' : 'revoked',
    createdAt: toIso(key.createdUnix),
    dailyQuota,
  }
}

export const Label = Type.Union([Type.String({ maxLength: 512 }), Type.Null()], {
  description: 'Free text of at most 64 characters; null for none.',
})

/** Counted in code points. */
const LABEL_MAX = 64

/** Control characters, lone surrogates, line separators and bidi controls (UAX 9). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Spaces, format characters and others that print nothing. */
const INVISIBLE = /^[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u

/** Labels are logged, so they must not hold a secret. */
const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}/

/** Normalizes a label to NFC; an empty one becomes undefined. */
export function parseLabel(text: string | null | undefined): string | null | Refusal {
  const label = (text ?? '').normalize('NFC')
  if (label === '') return null
  const isReadable = ![FORBIDDEN, INVISIBLE, SECRET].some((each) => each.test(label))
  if (isReadable && [...label].length <= LABEL_MAX) return label
  const reason =
    'must be at most 64 characters, without controls, characters that turn text around, or a secret'
  return refuse('invalid_body', `label ${reason}`, {
    errors: [{ in: 'body', name: 'label', reason }],
  })
}
