import { refuseSpending } from '#accounts/keys/spending-caps.ts'
import { callCounts } from '#accounts/metering/call-counts.ts'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import type { Call } from '#api/http/call.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { MINUTE_MS } from '#lib/time.ts'
import type { OpenStream, PaymentRequired } from '#route/route.ts'
import type { MeteredDeps } from './call-payment.ts'
import { refuseFailure } from './failure.ts'

export interface StreamEnd {
  readonly reason: string
  readonly detail: string
  readonly offer?: unknown
}

interface ChargedCall {
  readonly call: Call
  /** Anew: a key may have been revoked. */
  identify(): Promise<Caller | Refusal>
}

/** A stream of a revoked, expired or limited key ends within about a second. */
const IDENTIFY_EVERY_MS = 500

/** How soon a client may reconnect. */
const RETRY_MS = { soon: 1_000, later: 10_000 }

/**
 * Charges each started minute as it is sent; the first was charged on opening. Whatever ends the stream
 * is its last event. The source must yield within a second or so, if only empty text.
 */
export function chargeMinutes(
  deps: MeteredDeps,
  charged: ChargedCall & { readonly open: OpenStream },
): OpenStream {
  return async function* stream(signal) {
    let minuteMs = deps.ctx.clock()
    let identifiedMs = deps.ctx.clock()
    try {
      for await (const chunk of charged.open(signal)) {
        if (Math.abs(deps.ctx.clock() - identifiedMs) >= IDENTIFY_EVERY_MS) {
          identifiedMs = deps.ctx.clock()
          const caller = await charged.identify()
          if (isRefusal(caller)) return yield endText(endOf(caller), RETRY_MS.later)
        }
        const elapsedMs = Math.abs(deps.ctx.clock() - minuteMs)
        if (elapsedMs >= MINUTE_MS) {
          if (signal.aborted) return
          minuteMs = elapsedMs < 2 * MINUTE_MS ? minuteMs + MINUTE_MS : deps.ctx.clock()
          const end = await chargeMinute(deps, charged)
          if (end !== undefined) return yield endText(end, RETRY_MS.later)
        }
        yield chunk
      }
      const detail = 'the server is stopping; reconnect with Last-Event-ID'
      yield endText({ reason: 'server_stopping', detail }, RETRY_MS.soon)
    } catch (error) {
      if (signal.aborted) return
      const end = endOf(refuseFailure(deps.ctx, error, charged.call.requestId))
      yield endText(end, RETRY_MS.later)
    }
  }
}

async function chargeMinute(
  deps: MeteredDeps,
  { call, identify }: ChargedCall,
): Promise<StreamEnd | undefined> {
  const caller = await identify()
  if (isRefusal(caller)) return endOf(caller)
  const admission = await meterOf(deps.ctx).admit(caller)
  callCounts(deps.ctx).addAdmission(
    admission.kind === 'admitted' ? admission.source : admission.kind,
  )
  if (admission.kind === 'admitted') return undefined
  if (admission.kind === 'limited') return endOf(refuseSpending(admission.cap))
  return exhausted(await deps.paymentRequired(caller, call))
}

function endOf({ code, message }: Refusal): StreamEnd {
  return { reason: code, detail: message }
}

function exhausted(ending: PaymentRequired | Refusal): StreamEnd {
  const reason = 'quota_exhausted'
  if (isRefusal(ending)) return { reason, detail: ending.message }
  return { reason, detail: 'no free call and no balance is left', offer: ending.body }
}

function endText(end: StreamEnd, retryMs: number): string {
  return `retry: ${retryMs}\nevent: end\ndata: ${JSON.stringify(end)}\n\n`
}
