import type { Address, Hash } from '#domain/address.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { readKnown } from '#money/payments/deposit.ts'
import { findProof } from './claim-store.ts'
import type { Asker } from './contract-proofs.ts'
import { liveCreditsOf } from './credit.ts'
import type { PaymentsDeps } from './payments-deps.ts'
import type { Proof } from './register-claim.ts'
import { logName } from './suspense.ts'

interface Posted {
  readonly publicId: string
  readonly txHash: Hash
  readonly payerAddress: Address
  readonly message: string
  readonly signature: string
}

/** Empty where the contract's owners approved the text on the chain; at most about thirty owners. */
const BYTES = /^0x(?:[0-9a-f]{2}){0,2048}$/i

/** Accepts a proof that the payer's key signed, or else the payer's contract. */
export async function checkProof(
  deps: PaymentsDeps,
  posted: Posted,
  asker: Asker,
): Promise<Proof | Refusal> {
  const { message, signature } = posted
  const named = { ...posted, chainId: deps.chainId }
  const byKey = { ...named, byContract: false, freshness: 'required' } as const
  const refused = await deps.verifyPayerProof(byKey)
  if (refused === undefined) return { message, signature, byContract: false }
  const mayBeContracts =
    refused.code.startsWith('invalid_signature') || refused.code === 'message_expired'
  if (!mayBeContracts || !BYTES.test(signature)) return refused
  const text = await deps.verifyPayerProof({ ...named, byContract: true, freshness: 'day' })
  if (text !== undefined) return refused.code === 'message_expired' ? refused : text
  return checkByContract(deps, { posted, refused }, asker)
}

/** Nodes are asked only about a deposit of the payer that is in the register and nobody's yet. */
async function checkByContract(
  deps: PaymentsDeps,
  { posted, refused }: { readonly posted: Posted; readonly refused: Refusal },
  asker: Asker,
): Promise<Proof | Refusal> {
  const { payerAddress, message, signature } = posted
  const proof: Proof = { message, signature, byContract: true }
  const stored = await findProof({ run: deps.engine.read }, posted)
  if (stored?.message === message && stored.signature === signature) return proof
  const waits = await waitsForProof(deps, posted)
  if (isRefusal(waits)) return waits
  if (!waits)
    return {
      ...refused,
      message: `${refused.message}; a contract wallet posts its proof once the transfer is seen (status confirming or unlinked)`,
    }
  const asked = { payerAddress, message, signature: `0x${signature.slice(2)}` } as const
  const answer = await deps.contractProofs.ask(asked, asker)
  if (answer === 'signed') return proof
  if (answer === 'undeployed')
    return {
      ...refused,
      message: `${refused.message}, and no contract is deployed at payerAddress`,
    }
  if (answer === 'unsigned')
    return refuse('invalid_signature', 'payerMessage was not signed by payerAddress')
  return answer
}

async function waitsForProof(
  deps: PaymentsDeps,
  { txHash, payerAddress }: Posted,
): Promise<boolean | Refusal> {
  const known = await readKnown(deps, [txHash])
  if (known === undefined)
    return refuse('data_not_ready', 'deposits cannot be read now', { retryAfterSeconds: 10 })
  const credits = await liveCreditsOf({ run: deps.engine.read }, [txHash])
  const credited = new Set(credits.map(logName))
  return known.deposits.some(
    (each) => each.txHash === txHash && each.from === payerAddress && !credited.has(logName(each)),
  )
}
