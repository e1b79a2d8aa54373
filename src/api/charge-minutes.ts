import { type Meter, MeteringUnavailable } from '#access/meter/admission.ts'
import { refuseSpending } from '#access/meter/spending-caps.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { OpenStream, PaymentRequired, RequestFacts } from '#route/route.ts'
import type { AdmissionSource } from './call-counts.ts'

export const MINUTE_MS = 60_000

export interface StreamEnd {
  readonly reason: string
  readonly detail: string
  readonly offer?: unknown
}

export interface ChargeDeps {
  readonly clock: Clock
  readonly meter: Pick<Meter, 'admit'>
  paymentRequired(
    caller: Caller,
    facts: RequestFacts,
  ): PaymentRequired | Refusal | Promise<PaymentRequired>
  report(error: unknown, requestId: string): void
  observeAdmission?(source: AdmissionSource): void
}

interface ChargedCall {
  readonly facts: RequestFacts
  /** Anew each minute: a key may have been revoked. */
  identify(): Caller | Promise<Caller | Refusal>
  /** Reports it, and says what it means to a caller. */
  failed(error: unknown): Refusal
}

/** How soon a client may reconnect. */
const RETRY_MS = { soon: 1_000, later: 10_000 }

/**
 * Charges each started minute as it is sent; the first was charged on opening. Whatever ends the stream
 * is its last event. The source must yield within a second or so, if only empty text.
 */
export function chargeMinutes(
  deps: ChargeDeps,
  call: ChargedCall & { readonly open: OpenStream },
): OpenStream {
  return async function* stream(signal) {
    let minuteMs = deps.clock()
    try {
      for await (const chunk of call.open(signal)) {
        const elapsedMs = Math.abs(deps.clock() - minuteMs)
        if (elapsedMs >= MINUTE_MS) {
          if (signal.aborted) return
          minuteMs = elapsedMs < 2 * MINUTE_MS ? minuteMs + MINUTE_MS : deps.clock()
          const end = await chargeMinute(deps, call)
          if (end !== undefined) return yield endText(end, RETRY_MS.later)
        }
        yield chunk
      }
      const detail = 'the server is stopping; reconnect with Last-Event-ID'
      yield endText({ reason: 'server_stopping', detail }, RETRY_MS.soon)
    } catch (error) {
      if (signal.aborted) return
      const { code, message } = call.failed(error)
      yield endText({ reason: code, detail: message }, RETRY_MS.later)
    }
  }
}

async function chargeMinute(
  deps: ChargeDeps,
  { facts, identify }: ChargedCall,
): Promise<StreamEnd | undefined> {
  try {
    const caller = await identify()
    if (isRefusal(caller)) return { reason: caller.code, detail: caller.message }
    const admission = await deps.meter.admit(caller)
    deps.observeAdmission?.(admission.kind === 'admitted' ? admission.source : admission.kind)
    if (admission.kind === 'admitted') return undefined
    if (admission.kind === 'limited') {
      const { code, message } = refuseSpending(admission.cap)
      return { reason: code, detail: message }
    }
    return exhausted(await deps.paymentRequired(caller, facts))
  } catch (error) {
    if (!(error instanceof MeteringUnavailable)) throw error
    deps.report(error, facts.requestId)
    const detail = 'calls cannot be counted right now; reconnect later'
    return { reason: 'metering_unavailable', detail }
  }
}

function exhausted(ending: PaymentRequired | Refusal): StreamEnd {
  const reason = 'quota_exhausted'
  if (isRefusal(ending)) return { reason, detail: ending.message }
  return { reason, detail: 'no free call and no balance is left', offer: ending.body }
}

function endText(end: StreamEnd, retryMs: number): string {
  return `retry: ${retryMs}\nevent: end\ndata: ${JSON.stringify(end)}\n\n`
}
