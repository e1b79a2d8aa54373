import { randomUUID } from 'node:crypto'
import { verifyPayerProof } from '#accounts/keys/message.ts'
import {
  createFailureGuard,
  failedSettlementsOf,
  wrongSignaturesOf,
} from '#accounts/metering/abuse-guard.ts'
import { describeGate, factsOf } from '#api/service-facts.ts'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { type Context, reportError } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import type { PayerProof } from '#domain/payer-proof.ts'
import type { Clock } from '#lib/time.ts'
import { ContractProofs } from '#money/payments/contract-proofs.ts'
import { Notifier } from '#money/payments/notifier.ts'
import { paymentRequiredBody } from '#money/payments/offers.ts'
import type { PaymentsDeps } from '#money/payments/payments-deps.ts'
import { createX402, type X402 } from '#money/x402/create-x402.ts'
import { settlesPayment } from '#money/x402/settling/payment-store.ts'
import { openSettlingRpc } from '#money/x402/settling/settling-rpc.ts'
import { OFFERS } from './offered-amounts.ts'
import { settlingOf } from './settling.ts'

export interface Money extends PaymentsDeps {
  /** The 402 body that the API contract specifies. */
  quotaBody(caller: Caller): unknown
  /** Undefined where x402 payments are not settled. */
  readonly x402: X402 | undefined
}

/** Undefined without payments. */
export function openMoney(ctx: Context): Money | undefined {
  const { ecosystem, clock } = ctx
  const { payment, pricePerCall } = ecosystem
  if (payment === null) return undefined
  const { publicBaseUrl, pricingDocsUrl } = ecosystem.service
  const { gate } = factsOf(ctx)
  const settles = settlingOf(ctx) !== undefined
  const report = (error: unknown) => reportError(ctx, error)
  const minter = gate === null ? null : describeGate(gate)
  const offers = { payment, pricePerCall, pricingDocsUrl, minter, settles, clock }
  const quotaBody = (caller: Caller) => paymentRequiredBody(offers, caller)
  const common = { engine: ctx.accounts, clock, newId: randomUUID }
  const deposits: PaymentsDeps['deposits'] = { canonical: (query) => readDeposits(ctx, query) }
  const readHead = async () => (await deposits.canonical({ txHashes: [] }))?.head.number
  return {
    ...common,
    quotaBody,
    chainId: payment.chain.id,
    confirmations: payment.confirmations,
    verifyPayerProof: (proof: PayerProof) => verifyPayerProof(ctx, proof),
    contractProofs: new ContractProofs(walletNodes(payment), clock, proofGuard(clock)),
    deposits,
    isReserved: settlesPayment,
    notifier: new Notifier(readHead, report),
    x402: settles
      ? createX402({
          ...common,
          recoveries: wrongSignaturesOf(ctx),
          settlements: failedSettlementsOf(ctx),
          quotaBody,
          report,
          payment,
          pricePerCall,
          publicBaseUrl,
          rpc: openSettlingRpc(payment.chain),
          amounts: OFFERS,
        })
      : undefined,
  }
}

/** Bounds how many unsigned proofs of contract wallets one address may post. */
function proofGuard(clock: Clock) {
  const message = 'too many proofs were not signed; post one again in a minute'
  return createFailureGuard({ clock, limit: { burst: 5, refillPerSecond: 1 / 12 }, message })
}

function walletNodes({ chain: { id, rpcUrls } }: Payment) {
  return rpcUrls.map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
}
