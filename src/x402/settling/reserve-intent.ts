import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import type { Intent } from './intent.ts'
import { countOpenBefore, findIntent, insertIntent } from './intent-store.ts'
import { lockSettler } from './settler-store.ts'

/** Nodes hold some 64 waiting transactions of one account, by default. */
const OPEN_MAX = 64

/**
 * Sets out to settle an authorization. `used` when it was reserved before. `busy` while another payment
 * of its payer is open, since one wallet's balance could back any number of payments that fail at our
 * cost, or while too many wait for the settling wallet; then nothing is noted, and it may come again.
 */
export async function reserveIntent(
  connection: Connection,
  input: { readonly intent: Intent; readonly settler: Address },
): Promise<'reserved' | 'used' | 'busy'> {
  const { intent, settler } = input
  const { chainId, asset, authorization } = intent
  // One after another, on any number of replicas, so that two do not pass each other.
  await lockSettler(connection, { chainId, settler })
  const { from, nonce } = authorization
  if ((await findIntent(connection, { chainId, asset, from, nonce })) !== undefined) return 'used'
  const open = await countOpenBefore(connection, intent)
  if (open.ofPayer > 0 || open.all >= OPEN_MAX) return 'busy'
  return (await insertIntent(connection, intent)) ? 'reserved' : 'used'
}
