import { type Static, Type } from 'typebox'
import { findKey } from '#accounts/keys/key-store.ts'
import { type Hash, parseAddress, parseHash } from '#domain/address.ts'
import { type Caller, PUBLIC_ID } from '#domain/caller.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { sleep } from '#lib/async.ts'
import { unixNow } from '#lib/time.ts'
import { readKnown } from '#money/payments/deposit.ts'
import {
  answer,
  defineRoute,
  type Parameter,
  parsed,
  parseInteger,
  type Route,
} from '#route/route.ts'
import { checkProof } from './check-proof.ts'
import type { Claim, Trust } from './claim.ts'
import { type ClaimState, isOpen, readClaimState } from './claim-state.ts'
import { findClaimById, findClaimByTx } from './claim-store.ts'
import type { Asker } from './contract-proofs.ts'
import type { PaymentsDeps } from './payments-deps.ts'
import { PrepaymentRecord, toPrepaymentRecord } from './prepayment-record.ts'
import { type CheckedClaim, type Proof, registerClaim } from './register-claim.ts'

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

type PrepayInput = Static<typeof PrepayBody>

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

export function paymentsRoutes(deps: PaymentsDeps): readonly Route[] {
  return [postPrepayRoute(deps), getPrepayRoute(deps)]
}

function postPrepayRoute(deps: PaymentsDeps): Route {
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
      'invalid_address',
      'invalid_signature_format',
      'invalid_signature',
      'message_malformed',
      'message_expired',
      'message_address_mismatch',
      'message_wrong_action',
      'key_not_found',
      'key_revoked',
      'not_key_owner',
      'rate_limited',
      'data_not_ready',
    ],
    async handle({ body, caller, addressBucket, signal }) {
      const checked = await check(deps, { body, caller, asker: { addressBucket, signal } })
      if (isRefusal(checked)) return checked
      const registered = await registerClaim(deps, checked)
      if (isRefusal(registered)) return registered
      const { claim } = registered
      const state = await readClaimState(deps, claim)
      const record = toPrepaymentRecord(claim, state, deps.confirmations)
      if (registered.kind !== 'created') return answer(200, record, NO_STORE)
      const isLinked = checked.payerAddress === checked.owner || checked.proof !== undefined
      return answer(201, isLinked ? record : { ...record, hint: UNLINKED }, NO_STORE)
    },
  })
}

const UNLINKED =
  'payerAddress does not own the key: this transfer is credited once its sender signs the text of GET /api/keys/message?action=link-payer and you post it here as payerMessage and payerSignature'

async function check(
  deps: PaymentsDeps,
  input: {
    readonly body: PrepayInput
    readonly caller: Caller
    readonly asker: Asker
  },
): Promise<CheckedClaim | Refusal> {
  const { body, caller, asker } = input
  const payerAddress = parseAddress(body.payerAddress)
  if (payerAddress === undefined)
    return refuse(
      'invalid_address',
      'payerAddress must be 0x and 40 hex digits, with a valid EIP-55 checksum if in mixed case',
    )
  const txHash = parseHash(body.txHash)
  if (txHash === undefined) return refuse('invalid_body', 'txHash must be 0x and 64 hex digits')
  const publicId = body.apiKeyPublicId
  const key = await findKey({ run: deps.engine.read }, publicId)
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
      : await checkProof(deps, { publicId, txHash, payerAddress, message, signature }, asker)
  if (isRefusal(proof)) return proof
  return {
    publicId,
    txHash,
    owner: key.wallet,
    payerAddress,
    claimedMicroUsd: BigInt(Math.max(1, Math.round(body.amountUsd * 1e6))),
    proof,
    trust: trustOf(caller, proof),
  }
}

function trustOf(caller: Caller, proof: Proof | undefined): Trust {
  if (caller.kind === 'keyed') return 'owner'
  return proof === undefined ? 'none' : 'payer'
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

type ClaimName = { readonly id: string } | { readonly txHash: Hash }

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

function getPrepayRoute(deps: PaymentsDeps): Route {
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
    async handle({ parameters: { idOrTxHash, wait }, signal }) {
      const untilMs = deps.clock() + wait * 1_000
      const shown = await waitForDecision(deps, { name: idOrTxHash, untilMs, signal })
      if (shown === undefined)
        return refuse(
          'prepayment_not_found',
          'there is no prepayment with this id or transaction; register it with POST /api/sessions/prepay',
        )
      return answer(200, toPrepaymentRecord(shown.claim, shown.state, deps.confirmations), NO_STORE)
    },
  })
}

const WAITERS_MAX = 500

interface Shown {
  readonly claim: Claim
  readonly state: ClaimState
}

async function waitForDecision(
  deps: PaymentsDeps,
  waiting: { readonly name: ClaimName; readonly untilMs: number; readonly signal: AbortSignal },
): Promise<Shown | undefined> {
  const { name, untilMs, signal } = waiting
  for (;;) {
    const claim = await findNamed(deps, name)
    if (claim === undefined) return undefined
    const shown = { claim, state: await readClaimState(deps, claim) }
    const leftMs = untilMs - deps.clock()
    const waits = isOpen(shown.state.status) && leftMs > 0 && !signal.aborted
    if (!waits || deps.notifier.count >= WAITERS_MAX) return shown
    await wakeOrSleep(deps, leftMs, signal)
  }
}

async function findNamed(deps: PaymentsDeps, name: ClaimName): Promise<Claim | undefined> {
  const reads = { run: deps.engine.read }
  if ('id' in name) return findClaimById(reads, name.id)
  const { txHash } = name
  const known = await readKnown(deps, [txHash])
  const senders = [...new Set(known?.deposits.map(({ from }) => from))]
  return findClaimByTx(reads, { txHash, senders, nowUnix: unixNow(deps.clock) })
}

async function wakeOrSleep(
  { notifier }: PaymentsDeps,
  leftMs: number,
  signal: AbortSignal,
): Promise<void> {
  const woken = new AbortController()
  const stop = notifier.listen(() => woken.abort())
  await sleep(leftMs, AbortSignal.any([woken.signal, signal]))
  stop()
}
