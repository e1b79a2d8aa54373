import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { verifyPayerProof } from '#accounts/keys/message.ts'
import { getWrongSignatures } from '#accounts/metering/abuse-guard.ts'
import type { Address, Hash } from '#base/address.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { askContractWallet, type WalletAnswer } from '#chain/contract-signature.ts'
import type { Context } from '#context.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { openSettlingRpc } from '#payments/x402/settling-rpc.ts'
import { findProof, type Proof } from './claim.ts'
import { listLiveCredits, logName } from './credit.ts'
import { readDeposits } from './deposits.ts'

interface Posted {
  readonly publicId: string
  readonly txHash: Hash
  readonly payerAddress: Address
  readonly message: string
  readonly signature: string
}

/** A contract wallet's signature: `0x` alone where its owners approved the text on chain; 2,048 bytes hold about thirty of theirs. */
const CONTRACT_SIGNATURE = /^0x(?:[0-9a-f]{2}){0,2048}$/i

/** Accepts a proof that the payer's key signed, or else the payer's contract. */
export async function checkProof(
  ctx: Context,
  posted: Posted,
  addressBucket: string,
): Promise<Proof | Refusal> {
  const { message, signature } = posted
  const named = { ...posted, chainId: requirePayment(ctx).chain.id }
  const byKey = { ...named, byContract: false, freshness: 'required' } as const
  const refused = await verifyPayerProof(ctx, byKey)
  if (refused === undefined) return { message, signature, byContract: false }
  const mayBeContracts =
    refused.code.startsWith('invalid_signature') || refused.code === 'message_expired'
  if (!mayBeContracts || !CONTRACT_SIGNATURE.test(signature)) return refused
  const text = await verifyPayerProof(ctx, { ...named, byContract: true, freshness: 'day' })
  if (text !== undefined) return refused.code === 'message_expired' ? refused : text
  return checkByContract(ctx, { posted, refused }, addressBucket)
}

/** Asks nodes only about a deposit of the payer that is read and not yet claimed. */
async function checkByContract(
  ctx: Context,
  { posted, refused }: { readonly posted: Posted; readonly refused: Refusal },
  addressBucket: string,
): Promise<Proof | Refusal> {
  const { message, signature } = posted
  const proof: Proof = { message, signature, byContract: true }
  const stored = await findProof({ run: ctx.accounts.read }, posted)
  if (stored?.message === message && stored.signature === signature) return proof
  const waits = await waitsForProof(ctx, posted)
  if (isRefusal(waits)) return waits
  if (!waits)
    return {
      ...refused,
      message: `${refused.message}; a contract wallet posts its proof once the transfer is seen (status confirming or unlinked)`,
    }
  const failures = getWrongSignatures(ctx)
  const limited = failures.refusal(addressBucket)
  if (limited !== undefined) return limited
  const answer = await askNodes(ctx, posted)
  if (isRefusal(answer)) return answer
  if (answer === 'signed') return proof
  failures.take(addressBucket)
  if (answer === 'undeployed')
    return {
      ...refused,
      message: `${refused.message}, and no contract is deployed at payerAddress`,
    }
  return refuse('invalid_signature', 'payerMessage was not signed by payerAddress')
}

async function waitsForProof(
  ctx: Context,
  { txHash, payerAddress }: Posted,
): Promise<boolean | Refusal> {
  const known = await ctx.accounts.snapshot((reads) =>
    readDeposits(reads, requirePayment(ctx), [txHash]),
  )
  if (known === undefined)
    return refuse('data_not_ready', 'cannot read deposits; retry', { retryAfterSeconds: 10 })
  const credits = await listLiveCredits({ run: ctx.accounts.read }, [txHash])
  const credited = new Set(credits.map(logName))
  return known.deposits.some(
    (each) => each.txHash === txHash && each.from === payerAddress && !credited.has(logName(each)),
  )
}

/** A Safe uses about 7,000 per owner. */
const GAS = 500_000n

/** One node alone could give the money to another key. */
const NODES_MAX = 2

async function askNodes(
  ctx: Context,
  { payerAddress: wallet, message, signature }: Posted,
): Promise<WalletAnswer | Refusal> {
  const { id, rpcUrls } = requirePayment(ctx).chain
  const asked = {
    wallet,
    digest: getSignPayload(fromString(message)),
    signature: `0x${signature.slice(2)}`,
    gas: GAS,
  } as const
  const answers = await Promise.all(
    rpcUrls
      .slice(0, NODES_MAX)
      .map((url) =>
        askContractWallet(openSettlingRpc({ id, rpcUrls: [url] }), asked).catch(() => undefined),
      ),
  )
  const [answer] = answers
  if (answer === undefined || answers.some((other) => other !== answer))
    return refuse(
      'data_not_ready',
      'the nodes do not agree on whether this contract wallet signed; post it again soon',
      { retryAfterSeconds: 10 },
    )
  return answer
}
