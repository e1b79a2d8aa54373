import { Type } from 'typebox'
import { KeyRecord, toKeyRecord, writeOrRefuse } from '#accounts/keys/key-store.ts'
import { keyAccount, readBalances } from '#accounts/ledger/account.ts'
import { readAllowance } from '#accounts/metering/tier.ts'
import type { Context } from '#context.ts'
import { toUsd } from '#domain/money.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { unixNow } from '#lib/time.ts'
import { answer, defineRoute, type RequestHeaders, type Route } from '#route/route.ts'
import { AUTHORITY_REFUSALS, type Authority, authorise, type OwnerProof } from './authorise.ts'
import { listKeys, useMessage } from './key-store.ts'

const ListedKey = named('ListedApiKey', {
  ...KeyRecord.properties,
  prepaidBalanceUsd: Type.Number({ description: 'The prepaid balance of this key.' }),
})

const KeyList = named('ApiKeyList', { keys: Type.Array(ListedKey) })

export function listRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys',
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'List the keys of a wallet',
    description:
      'Give a key of the wallet as Bearer, or sign the text of GET /api/keys/message?action=list and send the headers X-Wallet-Address, X-Wallet-Message (the text in base64url) and X-Wallet-Signature. Revoked keys are listed too; secrets never.',
    metered: false,
    guard: 'mint',
    parameters: {},
    answers: { 200: { description: 'All keys of the wallet, newest first.', schema: KeyList } },
    refusals: AUTHORITY_REFUSALS,
    async handle({ headers, caller }) {
      const proof = proofOf(headers)
      const authority = authorise(ctx, { action: 'list', caller, proof, named: {} })
      if (isRefusal(authority)) return authority
      const used = await useListing(ctx, authority)
      if (used !== undefined) return used
      const keys = await readKeys(ctx, authority)
      return answer(200, { keys })
    },
  })
}

function proofOf(headers: RequestHeaders): OwnerProof {
  const ownerAddress = only(headers['x-wallet-address'])
  const signature = only(headers['x-wallet-signature'])
  const message = only(headers['x-wallet-message'])
  return {
    ...(ownerAddress === undefined ? {} : { ownerAddress }),
    ...(signature === undefined ? {} : { signature }),
    ...(message === undefined
      ? {}
      : { message: Buffer.from(message, 'base64url').toString('utf8') }),
  }
}

function only(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' || header === undefined ? header : header.join(',')
}

async function useListing(ctx: Context, authority: Authority): Promise<Refusal | undefined> {
  const { signed } = authority
  if (signed === undefined) return undefined
  const nowUnix = unixNow(ctx.clock)
  const outcome = await writeOrRefuse(ctx.accounts, async (connection) => {
    const used = await useMessage(connection, { signed, action: 'list', nowUnix })
    return used ?? 'unused'
  })
  return isRefusal(outcome) ? outcome : undefined
}

async function readKeys(ctx: Context, { wallet }: Authority) {
  const allowance = await readAllowance(ctx, wallet)
  return ctx.accounts.snapshot(async (reads) => {
    const keys = await listKeys(reads, wallet)
    const balances = await readBalances(
      reads,
      keys.map((key) => keyAccount(key.publicId)),
    )
    return keys.map((key) => ({
      ...toKeyRecord(ctx, key, allowance),
      prepaidBalanceUsd: toUsd(balances.get(keyAccount(key.publicId)) ?? 0n),
    }))
  })
}
