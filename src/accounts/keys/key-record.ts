import { Type } from 'typebox'
import { showAddress } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
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

export function toKeyRecord(
  { keyPrefix }: { readonly keyPrefix: string },
  key: Key,
  { tier, dailyQuota }: Allowance,
) {
  return {
    publicId: key.publicId,
    prefix: `${keyPrefix}_${key.publicId}`,
    label: key.label,
    ownerAddress: showAddress(key.wallet),
    tier,
    status: key.revokedUnix === null ? 'active' : 'revoked',
    createdAt: toIso(key.createdUnix),
    dailyQuota,
  }
}
