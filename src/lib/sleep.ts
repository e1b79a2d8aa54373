import { setTimeout as delay } from 'node:timers/promises'

/** Ends early on abort; never throws. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal, ref: true })
  } catch {
    return
  }
}
