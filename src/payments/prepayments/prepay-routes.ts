import { fromString } from 'ox/Hex'
import { getSignPayload } from 'ox/PersonalMessage'
import { type Static, Type } from 'typebox'
import { findKey } from '#accounts/keys/key-store.ts'
import { SIGNATURE_REFUSALS, verifyPayerProof } from '#accounts/keys/message.ts'
import { getWrongSignatures } from '#accounts/metering/abuse-guard.ts'
import { parseAddress, parseHash, showAddress } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import { type Caller, PUBLIC_ID } from '#base/caller.ts'
import { toUsd } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { toIso, unixNow } from '#base/time.ts'
import { askContractWallet } from '#chain/contract-signature.ts'
import { type Context, oncePerContext } from '#context.ts'
import { sql } from '#db/sql.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { openSettlingRpc } from '#payments/x402/settlement.ts'
import { answer, defineRoute, type Parameter, parsed, parseInteger, type Route } from '#route.ts'
import {
  type CheckedClaim,
  CLAIM_TTL_SECONDS,
  type Claim,
  type ClaimName,
  findClaim,
  isContractProofStored,
  judgeClaim,
  type PostedProof,
  type Proof,
  readEvidence,
  registerClaim,
} from './claim.ts'
import { isComplete, type KnownDeposits, readDeposits, UNCREDITED } from './deposits.ts'

const MESSAGE_OF = {
  pending: 'pending_verification',
  confirming: 'pending_verification',
  verified: 'verified',
  rejected: 'no_matching_transfer',
  unlinked: 'payer_not_linked',
  expired: 'expired',
  reversed: 'reverted_by_reorg',
} as const

/** Each message has a page at /problems/{message}. */
export const PREPAYMENT_MESSAGES: readonly string[] = [...new Set(Object.values(MESSAGE_OF))]

/** Has no balances, so anyone may read it. */
const PrepaymentRecord = named('Prepayment', {
  id: Type.String({ format: 'uuid' }),
  txHash: Type.String(),
  amountUsd: Type.Number({ description: 'As claimed; once verified, what the chain shows.' }),
  verified: Type.Boolean(),
  message: Type.Enum([...PREPAYMENT_MESSAGES], {
    description: 'What it means and what to do: /problems/{message}.',
  }),
  status: Type.Enum(Object.keys(MESSAGE_OF)),
  apiKeyPublicId: Type.String(),
  payerAddress: Type.String(),
  creditedUsd: Type.Union([Type.Number(), Type.Null()]),
  confirmations: Type.Integer({
    description: 'Blocks on top of the transfer, at most requiredConfirmations.',
  }),
  requiredConfirmations: Type.Integer(),
  createdAt: Type.String({ format: 'date-time' }),
  verifiedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  hint: Type.Optional(Type.String({ description: 'In the 201 only: what the payer must sign.' })),
})

/** Its status is derived from the claim's credits and the chain. */
async function readRecord(ctx: Context, claim: Claim) {
  const payment = requirePayment(ctx)
  const { known, ...evidence } = await ctx.accounts.snapshot(async (reads) => ({
    known: await readDeposits(reads, payment, [claim.txHash]),
    ...(await readEvidence(reads, claim)),
  }))
  const credits = evidence.credits.filter(({ claimId }) => claimId === claim.id)
  const [credit] = credits
  const credited = credit && toUsd(credits.reduce((sum, { microUsd }) => sum + microUsd, 0n))
  const isSeen = known !== undefined && known.deposits.length > 0
  const verdict = isSeen
    ? judgeClaim(ctx, claim, { known, ...evidence })
    : { status: judgeUnseen(claim, known, unixNow(ctx.clock)), confirmations: 0 }
  const status = credit === undefined ? verdict.status : 'verified'
  return {
    id: claim.id,
    txHash: claim.txHash,
    amountUsd: credited ?? toUsd(claim.claimedMicroUsd),
    verified: status === 'verified',
    message: MESSAGE_OF[status],
    status,
    apiKeyPublicId: claim.publicId,
    payerAddress: showAddress(credit?.payerAddress ?? claim.payerAddress),
    creditedUsd: credited ?? null,
    confirmations: credit ? payment.confirmations : verdict.confirmations,
    requiredConfirmations: payment.confirmations,
    createdAt: toIso(claim.createdUnix),
    verifiedAt: credit ? toIso(Math.min(...credits.map((each) => each.createdUnix))) : null,
  }
}

/** Also uses the chain's time, so that claims do not expire while the chain is not read. */
function judgeUnseen(
  claim: Claim,
  known: KnownDeposits | undefined,
  nowUnix: number,
): keyof typeof MESSAGE_OF {
  if (claim.wasCredited) return 'reversed'
  if (known === undefined || !isComplete(known.head)) return 'pending'
  const isPast = Math.min(nowUnix, known.head.timestamp) >= claim.openedUnix + CLAIM_TTL_SECONDS
  return isPast ? 'expired' : 'pending'
}

const PrepayBody = Type.Object({
  apiKeyPublicId: Type.String({ pattern: PUBLIC_ID.source, description: 'The key to credit.' }),
  txHash: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$', description: 'The transfer.' }),
  payerAddress: Type.String({
    maxLength: 64,
    description: 'The wallet that the money came from.',
  }),
  amountUsd: Type.Number({
    exclusiveMinimum: 0,
    maximum: 1e9,
    description: 'For your records only: the amount on the chain is credited.',
  }),
  payerMessage: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'Required if the payer does not own the key.' }),
  ),
  payerSignature: Type.Optional(
    Type.String({
      maxLength: 4_098,
      description:
        'EIP-191 signature of payerMessage by the payer, or what a deployed contract wallet accepts (ERC-1271).',
    }),
  ),
})

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

export function paymentsRoutes(ctx: Context): readonly Route[] {
  return [postPrepayRoute(ctx), getPrepayRoute(ctx)]
}

function postPrepayRoute(ctx: Context): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/sessions/prepay',
    operationId: 'prepay',
    tag: 'Payment',
    summary: 'Register a prepayment',
    description:
      'Registers the transaction of a transfer to payTo and the key to credit. A transfer counts if its sender owns the key, or signed the text of GET /api/keys/message?action=link-payer; the amount on the chain is credited. Posting the same key and transaction again returns the same record.',
    metered: false,
    guard: 'claim',
    parameters: {},
    body: PrepayBody,
    answers: {
      200: { description: 'Already registered: the same record.', schema: PrepaymentRecord },
      201: { description: 'The new record.', schema: PrepaymentRecord },
    },
    refusals: [
      ...SIGNATURE_REFUSALS,
      'key_not_found',
      'key_revoked',
      'not_key_owner',
      'data_not_ready',
    ],
    async handle({ body, caller, call: { addressBucket } }) {
      const checked = await check(ctx, body, caller, addressBucket)
      if (isRefusal(checked)) return checked
      const { isNew, claim } = await registerClaim(ctx, checked)
      const record = await readRecord(ctx, claim)
      if (!isNew) return answer(200, record, NO_STORE)
      const isLinked = checked.payerAddress === checked.owner || checked.proof !== undefined
      return answer(201, isLinked ? record : { ...record, hint: UNLINKED }, NO_STORE)
    },
  })
}

const UNLINKED =
  'payerAddress does not own the key: this transfer is credited once its sender signs the text of GET /api/keys/message?action=link-payer and you post it here as payerMessage and payerSignature'

async function check(
  ctx: Context,
  body: Static<typeof PrepayBody>,
  caller: Caller,
  addressBucket: string,
): Promise<CheckedClaim | Refusal> {
  const payerAddress = parseAddress(body.payerAddress)
  if (payerAddress === undefined)
    return refuse(
      'invalid_address',
      'payerAddress must be 0x and 40 hex digits, with a valid EIP-55 checksum if in mixed case',
    )
  const txHash = parseHash(body.txHash)
  if (txHash === undefined) return refuse('invalid_body', 'txHash must be 0x and 64 hex digits')
  const publicId = body.apiKeyPublicId
  const key = await findKey({ run: ctx.accounts.read }, publicId)
  if (key === undefined)
    return refuse('key_not_found', `there is no key ${publicId}; check apiKeyPublicId`)
  if (caller.kind === 'keyed' && caller.wallet !== key.wallet)
    return refuse(
      'not_key_owner',
      'the key in the Authorization header and apiKeyPublicId belong to different wallets',
    )
  if (key.revokedUnix !== null)
    return refuse('key_revoked', `the key ${publicId} is revoked; name another one`)
  const { payerMessage: message, payerSignature: signature } = body
  if ((message === undefined) !== (signature === undefined))
    return refuse('invalid_body', 'payerMessage and payerSignature must be sent together')
  const proof =
    message === undefined || signature === undefined
      ? undefined
      : await checkProof(ctx, { publicId, txHash, payerAddress, message, signature }, addressBucket)
  if (isRefusal(proof)) return proof
  return {
    publicId,
    txHash,
    owner: key.wallet,
    payerAddress,
    claimedMicroUsd: BigInt(Math.max(1, Math.round(body.amountUsd * 1e6))),
    proof,
    trust: caller.kind === 'keyed' ? 'owner' : proof === undefined ? 'none' : 'payer',
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const claimInPath: Parameter<ClaimName> = {
  in: 'path',
  description: 'The id of the record, or the hash of the transaction.',
  schema: Type.String(),
  example: `0x${'ab'.repeat(32)}`,
  parse(raw = '') {
    const txHash = parseHash(raw)
    if (txHash !== undefined) return parsed({ txHash }, txHash)
    const id = raw.toLowerCase()
    if (UUID.test(id)) return parsed({ id }, id)
    return { ok: false, reason: 'must be the id of a record or the hash of a transaction' }
  },
}

const WAIT_SECONDS_MAX = 30

const waitInQuery: Parameter<number> = {
  in: 'query',
  description: 'Seconds to wait until the prepayment is decided.',
  schema: Type.Integer({ minimum: 0, maximum: WAIT_SECONDS_MAX, default: 0 }),
  example: 0,
  parse: (raw) =>
    raw === undefined ? parsed(0, 0) : parseInteger(raw, { minimum: 0, maximum: WAIT_SECONDS_MAX }),
}

function getPrepayRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/sessions/prepay/{idOrTxHash}',
    operationId: 'getPrepayment',
    tag: 'Payment',
    summary: 'Read a prepayment',
    description:
      'By id or transaction hash. If several records name the transaction, the first of these is returned: a verified one, one that was credited before a reorg, one whose key the sender of the transfer owns or signed for, one posted with a key of its owner, one that is still open, the oldest. With `wait`, the answer comes once the prepayment is decided, or after that many seconds.',
    metered: false,
    parameters: { idOrTxHash: claimInPath, wait: waitInQuery },
    answers: { 200: { description: 'The record.', schema: PrepaymentRecord } },
    refusals: ['prepayment_not_found'],
    async handle({ parameters: { idOrTxHash, wait }, call: { signal } }) {
      const record = await waitForDecision(ctx, idOrTxHash, wait, signal)
      if (record === undefined)
        return refuse(
          'prepayment_not_found',
          'there is no prepayment with this id or transaction; register it with POST /api/sessions/prepay',
        )
      return answer(200, record, NO_STORE)
    },
  })
}

/** Each reads its claim once per `POLL_MS`. */
const WAITERS_MAX = 500

const POLL_MS = 1_000

const getWaiting = oncePerContext(() => ({ count: 0 }))

async function waitForDecision(ctx: Context, name: ClaimName, wait: number, signal: AbortSignal) {
  const untilMs = ctx.clock() + wait * 1_000
  const waiting = getWaiting(ctx)
  for (;;) {
    const claim = await findClaim(ctx, name)
    if (claim === undefined) return undefined
    const record = await readRecord(ctx, claim)
    const leftMs = untilMs - ctx.clock()
    const isOpen = record.status === 'pending' || record.status === 'confirming'
    if (!isOpen || leftMs <= 0 || signal.aborted || waiting.count >= WAITERS_MAX) return record
    waiting.count += 1
    await sleep(Math.min(leftMs, POLL_MS), signal)
    waiting.count -= 1
  }
}

/** A contract wallet's signature: `0x` alone where its owners approved the text on chain; 2,048 bytes hold about thirty of theirs. */
const CONTRACT_SIGNATURE = /^0x(?:[0-9a-f]{2}){0,2048}$/i

/** Accepts a proof that the payer's key signed, or else the payer's contract. */
async function checkProof(ctx: Context, posted: PostedProof, addressBucket: string) {
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
  return checkByContract(ctx, posted, refused, addressBucket)
}

/** Asks nodes only about a deposit of the payer that is read and not yet claimed. */
async function checkByContract(
  ctx: Context,
  posted: PostedProof,
  refused: Refusal,
  addressBucket: string,
): Promise<Proof | Refusal> {
  const { message, signature } = posted
  const proof: Proof = { message, signature, byContract: true }
  if (await isContractProofStored(ctx, posted)) return proof
  if (!(await isAwaited(ctx, posted)))
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
  return refuse('invalid_signature', 'sign payerMessage with the wallet payerAddress')
}

/** Whether the payer's deposit is read, and not credited yet. */
async function isAwaited(ctx: Context, { txHash, payerAddress }: PostedProof): Promise<boolean> {
  const { id: chainId } = requirePayment(ctx).chain
  const found = await ctx.accounts.read(sql`
    select log_index from deposits
    where chain_id = ${chainId} and tx_hash = ${txHash} and sender = ${payerAddress}
      and ${UNCREDITED} limit 1`)
  return found.length === 1
}

/** A Safe uses about 7,000 per owner. */
const GAS = 500_000n

/** One node alone could give the money to another key. */
const NODES_MAX = 2

async function askNodes(ctx: Context, { payerAddress: wallet, message, signature }: PostedProof) {
  const { id, rpcUrls } = requirePayment(ctx).chain
  const asked = {
    wallet,
    digest: getSignPayload(fromString(message)),
    signature: `0x${signature.slice(2)}`,
    gas: GAS,
  } as const
  const nodes = rpcUrls.slice(0, NODES_MAX).map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
  const answers = await Promise.all(
    nodes.map((node) => askContractWallet(node, asked).catch(() => undefined)),
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
