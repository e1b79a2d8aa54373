import { type Static, Type } from 'typebox'
import { writeOrRefuse } from '#accounts/keys/key-store.ts'
import { readAllowance } from '#accounts/metering/tier.ts'
import type { Address } from '#base/address.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#base/refusal.ts'
import type { Allowance } from '#base/tier.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { findKey, type Key, lockKey, useMessage } from './key-store.ts'
import { type Action, checkSigned, type SignedMessage } from './message.ts'

export const SIGNED_FIELDS = {
  ownerAddress: Type.String({ maxLength: 64, description: 'The wallet that signs.' }),
  signature: Type.String({ description: 'EIP-191 signature: 130 hex digits, with or without 0x.' }),
  message: Type.String({ maxLength: 1_024, description: 'The exact text that was signed.' }),
}

/** The three members are sent together or not at all. */
export const ProofBody = Type.Partial(Type.Object(SIGNED_FIELDS))

export type OwnerProof = Static<typeof ProofBody>

export interface Authority {
  readonly wallet: Address
  /** Undefined for a wallet, which controls all its keys. */
  readonly publicId: string | undefined
  readonly signed: SignedMessage | undefined
}

export const AUTHORITY_REFUSALS: readonly RefusalCode[] = [
  'invalid_address',
  'invalid_signature_format',
  'invalid_signature',
  'message_malformed',
  'message_expired',
  'message_address_mismatch',
  'message_wrong_action',
  'signature_already_used',
  'not_key_owner',
]

interface NamedKeys {
  readonly key?: string
  readonly to?: string
}

/** Authorises by the signature if one was sent, else by the Authorization header. */
export function authorise(
  ctx: Context,
  input: {
    readonly action: Action
    readonly caller: Caller
    readonly proof: OwnerProof
    readonly named: NamedKeys
  },
): Authority | Refusal {
  const { ownerAddress, signature, message } = input.proof
  const given = [ownerAddress, signature, message].filter((each) => each !== undefined).length
  if (given === 0) {
    const { caller } = input
    if (caller.kind === 'keyed')
      return { wallet: caller.wallet, publicId: caller.publicId, signed: undefined }
    return refuse('invalid_signature', 'sign the message of this action with the owning wallet')
  }
  if (ownerAddress === undefined || signature === undefined || message === undefined)
    return refuse('invalid_body', 'ownerAddress, signature and message go together')
  const proof = { ownerAddress, signature, message }
  const signed = checkSigned(ctx, proof, { action: input.action, freshness: 'required' })
  if (isRefusal(signed)) return signed
  if (signed.values.key !== input.named.key || signed.values.to !== input.named.to)
    return refuse('message_wrong_action', 'the message is for another key; sign one for this key')
  return { wallet: signed.wallet, publicId: undefined, signed }
}

/** Reads the allowance first: after the commit nothing may fail, since the answer may hold a secret. */
export async function actOnKey<T>(
  ctx: Context,
  input: {
    readonly action: Action
    readonly publicId: string
    readonly caller: Caller
    readonly proof: OwnerProof
  },
  act: (connection: Connection, key: Key, nowUnix: number) => Promise<T | Refusal>,
): Promise<(T & { readonly allowance: Allowance }) | Refusal> {
  const { action, publicId } = input
  const authority = authorise(ctx, { ...input, named: { key: publicId } })
  if (isRefusal(authority)) return authority
  const allowance = await readAllowance(ctx, authority.wallet)
  const nowUnix = unixNow(ctx.clock)
  const outcome = await writeOrRefuse(ctx.accounts, async (connection) => {
    const found = await useAuthority(connection, authority, { action, publicId, nowUnix })
    if (isRefusal(found)) return found
    // Reads the row again under the lock, because a concurrent change must survive a rotation.
    const key = (await lockKey(connection, publicId)) ?? found
    return act(connection, key, nowUnix)
  })
  return isRefusal(outcome) ? outcome : { ...outcome, allowance }
}

/** Consumes the signature within the acting transaction. */
export async function useAuthority(
  connection: Connection,
  authority: Authority,
  input: { readonly action: Action; readonly publicId: string; readonly nowUnix: number },
): Promise<Key | Refusal> {
  const key = await findKey(connection, input.publicId)
  if (key === undefined) return refuse('key_not_found', 'no key has this publicId')
  const { publicId, signed } = authority
  if (key.wallet !== authority.wallet)
    return refuse('not_key_owner', 'this key belongs to another wallet')
  if (publicId !== undefined && publicId !== key.publicId)
    return refuse('not_key_owner', 'this is another key of your wallet: sign with the wallet')
  const used = signed && (await useMessage(connection, { ...input, signed }))
  return used ?? key
}
