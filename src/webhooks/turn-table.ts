import type { Webhook } from './webhook.ts'
import { hostOf } from './webhook-url.ts'

/** A request holds a socket and a few kilobytes. */
const TURNS_MAX = 256

/** Leaves room for receivers that answer. */
const FAILING_MAX = 128

/** Nobody is flooded with connections, and nobody's webhooks take all turns. */
const PER_HOST_MAX = 8
const PER_OWNER_MAX = 16

interface Turn {
  readonly webhook: Pick<Webhook, 'id' | 'url' | 'attempts'>
  /** The wallet, or the key where that is unknown. */
  readonly owner: string
}

/** Who is being sent to: each webhook once, each host and owner a few times. */
export class TurnTable {
  readonly #turns = new Map<string, Promise<void>>()
  readonly #taken = new Map<string, number>()

  has(webhookId: string): boolean {
    return this.#turns.has(webhookId)
  }

  /** Does nothing where a bound is reached: it stays due. */
  start({ webhook, owner }: Turn, work: () => Promise<void>): void {
    const limits = [
      { name: 'all', max: TURNS_MAX },
      { name: `host ${hostOf(new URL(webhook.url))}`, max: PER_HOST_MAX },
      { name: `owner ${owner}`, max: PER_OWNER_MAX },
      ...(webhook.attempts > 0 ? [{ name: 'failing', max: FAILING_MAX }] : []),
    ]
    if (this.has(webhook.id)) return
    if (limits.some(({ name, max }) => (this.#taken.get(name) ?? 0) >= max)) return
    for (const { name } of limits) this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1)
    const turn = work().finally(() => {
      this.#turns.delete(webhook.id)
      for (const { name } of limits) this.#leave(name)
    })
    this.#turns.set(webhook.id, turn)
  }

  async empty(): Promise<void> {
    while (this.#turns.size > 0) await Promise.allSettled(this.#turns.values())
  }

  #leave(name: string): void {
    const left = (this.#taken.get(name) ?? 1) - 1
    if (left === 0) this.#taken.delete(name)
    else this.#taken.set(name, left)
  }
}
