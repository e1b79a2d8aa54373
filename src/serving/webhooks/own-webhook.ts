import { Type } from 'typebox'
import { rotationsOf } from '#accounts/keys/key-store.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import type { Connection } from '#store/engine.ts'
import type { KeyedCaller } from './charge-event.ts'
import type { Webhook } from './webhook.ts'
import { listWebhooks } from './webhook-store.ts'

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

export const webhookIdInPath: Parameter<string> = {
  in: 'path',
  description: 'The `id` of a webhook.',
  schema: Type.String({ pattern: UUID }),
  example: '0d9b6f54-3c7e-4a52-9a0b-6f2f6f6d1c11',
  parse: (raw = '') =>
    new RegExp(UUID).test(raw) ? parsed(raw, raw) : { ok: false, reason: 'must be a UUID' },
}

/** Webhooks belong to a key. */
export function keyOf(caller: Caller): KeyedCaller | Refusal {
  if (caller.kind === 'keyed') return caller
  return refuse('invalid_api_key', 'send the key of the webhooks as Bearer')
}

/** Lists the webhooks of the key and of those that it replaced. */
export async function ownWebhooks(
  connection: Connection,
  { publicId }: KeyedCaller,
): Promise<readonly Webhook[]> {
  return listWebhooks(connection, await rotationsOf(connection, publicId))
}

export async function ownWebhook(
  connection: Connection,
  caller: KeyedCaller,
  id: string,
): Promise<Webhook | Refusal> {
  const own = (await ownWebhooks(connection, caller)).find((each) => each.id === id)
  return own ?? refuse('webhook_not_found', `this key has no webhook ${id}`)
}
