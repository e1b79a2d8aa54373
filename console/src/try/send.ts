import { type Cost, type Quota, SextonError } from 'sexton-client'
import { sexton } from '../state/session.ts'

export interface Sent {
  readonly status: number
  readonly tookMs: number
  /** Indented JSON. */
  readonly text: string
  readonly paidBy: Cost['paidBy']
  readonly quota: Quota | undefined
}

/** Sends any GET with the person's key; a refusal is an answer too. */
export async function send(target: string): Promise<Sent> {
  const startedMs = performance.now()
  const took = () => Math.round(performance.now() - startedMs)
  try {
    const { data, meta, status, cost, quota } = await sexton().call<unknown, unknown>('GET', target)
    const body = meta === undefined ? data : { data, meta }
    return {
      status,
      tookMs: took(),
      text: JSON.stringify(body, null, 2),
      paidBy: cost.paidBy,
      quota,
    }
  } catch (error) {
    if (!(error instanceof SextonError)) throw error
    const { status, problem, code, message } = error
    const text = JSON.stringify(problem ?? { error: code, errorMessage: message }, null, 2)
    return { status, tookMs: took(), text, paidBy: null, quota: undefined }
  }
}
