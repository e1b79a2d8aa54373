import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { showAddress } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Allowance, walletTiers } from '#domain/tier.ts'
import { named } from '#lib/schema.ts'
import { toIso } from '#lib/time.ts'
import type { Key } from './key-store.ts'

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

/** The only answers with a secret. */
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

/** Code points. */
const LABEL_MAX = 64

/** Controls, lone surrogates, line separators and bidi controls (UAX 9). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Nothing that is seen: spaces, format characters and others that leave no mark. */
const INVISIBLE = /^[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u

/** Labels are logged, so they must not hold a secret. */
const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}/

/** Normalizes to NFC; an empty label is none. */
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
